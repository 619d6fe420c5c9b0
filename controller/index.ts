/** The controller: takes reports of agents, watches the cluster, and turns what it learns into signals. Only one of several leads. */

import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { KcoverError } from '../contract/errors.ts';
import type { ControllerSettings } from '../contract/settings.schema.ts';
import type { Kube } from '../kube/connection.ts';
import { leaseStore } from '../kube/leases.ts';
import { readLivePod, reviewToken } from '../kube/tokens.ts';
import { rememberAgents } from './agents.ts';
import { authenticator } from './authenticate.ts';
import { openCertificate } from './certificate.ts';
import { openIntake } from './intake.ts';
import { type Clock, leadAlone, type Leadership, standForElection } from './leadership.ts';
import { controllerMetrics } from './metrics.ts';
import { beginReign, type Reign } from './reign.ts';
import { temporalSender, temporalWorkflows } from './temporal.ts';
import { pause } from './watchers/persist.ts';

export interface ControllerOptions {
  readonly settings: ControllerSettings;
  readonly kube: Kube;
  readonly temporal: Client;
  readonly identity: { readonly podName: string; readonly namespace: string };
  readonly log: Logger;
  readonly metrics: Registry;
}

export interface Controller {
  /** Where the intake listens. */
  readonly address: { readonly host: string; readonly port: number };
  leading(): boolean;
  /** Ends everything and gives the Lease back. Safe to repeat. */
  stop(): Promise<void>;
  /** `lost-lease`: another one may lead by now, and the process must end. */
  readonly stopped: Promise<'stopped' | 'lost-lease'>;
}

/** An agent counts as heard for so long, ms. */
const heardMs = 60_000;
/** How long open connections may hold up the end, ms. */
const closeMs = 3000;

/** Listens at once; leads when elected. Throws `KcoverError` when it cannot listen. */
export async function startController(options: ControllerOptions): Promise<Controller> {
  const { settings, kube, temporal, log } = options;
  const ending = new AbortController();
  const now = () => performance.now();
  let reign: Reign | undefined;
  let leadership: Leadership | undefined;
  const leading = () => reign !== undefined && leadership?.leading() === true;

  const agents = rememberAgents(now);
  const metrics = controllerMetrics(options.metrics, {
    leading,
    lettersWaiting: () => reign?.delivery.waiting() ?? 0,
    agentsHeard: () => agents.heardWithin(heardMs),
  });
  const intake = openIntake({
    certificate: openCertificate(settings.intake.tls, ending.signal, log),
    authenticate: authenticator({
      source: {
        review: (token) => reviewToken(kube, token, settings.intake.audience),
        pod: (namespace, name) => readLivePod(kube, namespace, name),
      },
      account: settings.intake.agentAccount,
      now,
    }),
    delivery: () => (leading() ? reign?.delivery : undefined),
    agents,
    onNodeFault: (node) => reign?.nodes.follow(node),
    metrics,
    log,
  });
  const address = await listen(intake, settings.intake.listen);

  log.info({ address }, 'intake listens');
  const claimed = claimLeadership(options);
  leadership = claimed;

  async function live(): Promise<'stopped' | 'lost-lease'> {
    if (await claimed.elected) {
      log.info('leading');
      const { taskQueue } = settings.temporal;
      reign = beginReign({
        kube,
        taint: settings.taint,
        readiness: settings.nodes,
        sender: temporalSender({ client: temporal, taskQueue }),
        workflows: temporalWorkflows({ client: temporal, taskQueue }),
        heardSince: (node, since) => (agents.get(node)?.at ?? -Infinity) >= since,
        metrics,
        log,
      });
    }
    const reason = await claimed.ended;
    log[reason === 'stopped' ? 'info' : 'error']({ reason }, 'no longer leading');
    reign?.end();
    reign = undefined;
    ending.abort();
    await Promise.race([intake.close(), sleep(closeMs, undefined, { ref: false })]);
    return reason;
  }

  const stopped = live();
  return {
    address,
    leading,
    async stop() {
      // Nothing of ours may be under way when the next one leads.
      reign?.end();
      reign = undefined;
      await claimed.stop();
      await stopped;
    },
    stopped,
  };
}

function claimLeadership({ settings, kube, identity, log }: ControllerOptions): Leadership {
  const { enabled, namespace, name, lease, renew, retry } = settings.leaderElection;
  if (!enabled) return leadAlone();
  const clock: Clock = { now: () => performance.now(), wall: () => new Date().toISOString(), sleep: pause };
  return standForElection({
    store: leaseStore(kube, { namespace, name }),
    // A pod that restarts in place is another candidate.
    identity: `${identity.podName}_${randomUUID().slice(0, 8)}`,
    timing: { lease, renew, retry },
    clock,
    onTrouble: (error) => log.warn({ code: error.code, because: error.because }, 'the Lease cannot be read or written'),
  });
}

async function listen(intake: ReturnType<typeof openIntake>, where: string): Promise<{ host: string; port: number }> {
  const [host = '', port = ''] = where.split(':');
  try {
    await intake.listen({ host: host || '0.0.0.0', port: Number(port) });
  } catch (error) {
    throw new KcoverError('settings.invalid', `intake.listen ${where}: ${error instanceof Error ? error.message : 'cannot listen'}`, { cause: error });
  }
  const [bound] = intake.addresses();
  return { host: bound?.address ?? host, port: bound?.port ?? Number(port) };
}
