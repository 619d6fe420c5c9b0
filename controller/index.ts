/** The controller: receives reports of agents, watches the cluster, and turns both into signals. Only one of several leads. */

import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { KcoverError } from '../contract/errors.ts';
import type { ControllerSettings } from '../contract/settings/settings.schema.ts';
import type { Kube } from '../kube/client/connection.ts';
import { leaderLabels } from '../kube/pods/leader-label.ts';
import { leaseStore } from '../kube/client/leases.ts';
import { readLivePod, reviewToken } from '../kube/client/tokens.ts';
import { silentNodes } from '../policy/node/agent-liveness.ts';
import { rememberAgents } from './intake/agents.ts';
import { authenticator, type TokenSource } from './intake/authenticate.ts';
import { openCertificate } from './intake/certificate.ts';
import { openIntake } from './intake/intake.ts';
import { openLeaderLabel, type LeaderLabel } from './election/leader-label.ts';
import { type Clock, leadAlone, type Leadership, standForElection } from './election/leadership.ts';
import { certificateMetric, controllerMetrics } from './metrics.ts';
import { startLeaderTerm, type LeaderTerm } from './election/leader-term.ts';
import { openCalls, temporalSender, temporalWorkflows } from './temporal.ts';
import { pause } from './watch/retry-while-leading.ts';

export interface ControllerOptions {
  readonly settings: ControllerSettings;
  readonly kube: Kube;
  readonly temporal: Client;
  /** Identifies this candidate in the Lease. */
  readonly identity: string;
  /** Its own pod, which gets the leader label; without it none is written. */
  readonly pod?: { readonly namespace: string; readonly name: string };
  readonly log: Logger;
  readonly metrics: Registry;
}

export interface Controller {
  /** Where the intake listens. */
  readonly address: { readonly host: string; readonly port: number };
  leading(): boolean;
  /** Stops everything and releases the Lease. Safe to repeat. */
  stop(): Promise<void>;
  /** `lost-lease`: another one may lead by now, so the process must end. */
  readonly stopped: Promise<'stopped' | 'lost-lease'>;
}

/** How long open connections may delay the shutdown, ms. */
const closeMs = 3000;

/** Listens at once; leads when elected. Throws `KcoverError` when it cannot listen. */
export async function startController(options: ControllerOptions): Promise<Controller> {
  const { settings, kube, temporal, log } = options;
  const ending = new AbortController();
  const now = () => performance.now();
  let term: LeaderTerm | undefined;
  let leadership: Leadership | undefined;
  const leading = () => term !== undefined && leadership?.leading() === true;

  const agents = rememberAgents(now);
  const calls = openCalls(temporal);
  const certificate = openCertificate(settings.intake.tls, ending.signal, log);
  const metrics = controllerMetrics(options.metrics, {
    leading,
    messagesWaiting: () => term?.outbox.waiting() ?? 0,
    agentsLive: () => agents.seenWithin(settings.agents.silent),
    agentsSilent: () => (term ? silentNodes(term.liveness(), now()) : []),
    quarantines: () => term?.nodes.quarantines() ?? new Map(),
  });
  certificateMetric(options.metrics, certificate.expires);
  const { intake: intakeSettings, preflight, progress } = settings;
  const intake = openIntake({
    certificate,
    authenticate: {
      agents: authenticator({
        source: tokensFor(kube, intakeSettings.audience),
        audience: intakeSettings.audience,
        account: intakeSettings.agentAccount,
        now,
      }),
      preflights: authenticator({ source: tokensFor(kube, preflight.audience), audience: preflight.audience, now }),
      trainers: authenticator({ source: tokensFor(kube, progress.audience), audience: progress.audience, now }),
    },
    external: settings.external,
    limits: intakeSettings.limits,
    collector: () => (leading() ? term : undefined),
    agents,
    onNodeFault: (node) => term?.nodes.follow(node),
    metrics,
    log,
  });
  const address = await listen(intake, intakeSettings.listen);

  log.info({ address }, 'intake listens');
  const label = labelOf(options, leading, ending.signal);
  const claimed = claimLeadership(options);
  leadership = claimed;

  async function live(): Promise<'stopped' | 'lost-lease'> {
    if (await claimed.elected) {
      log.info('leading');
      const { taskQueue } = settings.temporal;
      term = startLeaderTerm({
        kube,
        taint: settings.taint,
        nodes: settings.nodes,
        supervision: settings.jobs,
        rounds: settings.preflight,
        progress: settings.progress,
        loki: {
          settings: settings.loki,
          limits: settings.intake.limits.faults,
          namespace: settings.leaderElection.namespace,
        },
        sender: temporalSender({ client: temporal, calls, taskQueue }),
        workflows: temporalWorkflows({ client: temporal, calls, taskQueue }),
        lastSeenAt: (node) => agents.get(node)?.at,
        silentMs: settings.agents.silent,
        metrics,
        log,
      });
      label?.add();
    }
    const reason = await claimed.ended;
    log[reason === 'stopped' ? 'info' : 'error']({ reason }, 'no longer leading');
    term?.end();
    term = undefined;
    ending.abort();
    await Promise.race([Promise.all([intake.close(), calls.end()]), sleep(closeMs, undefined, { ref: false })]);
    return reason;
  }

  const stopped = live();
  return {
    address,
    leading,
    async stop() {
      // Nothing may be under way when the next leader begins.
      term?.end();
      term = undefined;
      await Promise.all([
        claimed.stop(),
        label && Promise.race([label.remove(), sleep(closeMs, undefined, { ref: false })]),
      ]);
      await stopped;
    },
    stopped,
  };
}

const tokensFor = (kube: Kube, audience: string): TokenSource => ({
  review: (token) => reviewToken(kube, token, audience),
  pod: (namespace, name) => readLivePod(kube, namespace, name),
});

/** Without an election there is one replica, and no label is needed. */
function labelOf(
  { settings, kube, pod, log }: ControllerOptions,
  leading: () => boolean,
  signal: AbortSignal,
): LeaderLabel | undefined {
  const { enabled, name, lease, retry } = settings.leaderElection;
  if (!enabled || !pod) return undefined;
  return openLeaderLabel({
    store: leaderLabels(kube, pod.namespace, name),
    pod: pod.name,
    leading,
    signal,
    pause,
    onTrouble: (because) => log.warn({ because }, 'the leader label cannot be corrected yet'),
    lookAgainMs: lease,
    retryMs: retry,
  });
}

function claimLeadership({ settings, kube, identity, log }: ControllerOptions): Leadership {
  const { enabled, namespace, name, lease, renew, retry } = settings.leaderElection;
  if (!enabled) return leadAlone();
  const clock: Clock = { now: () => performance.now(), wall: () => new Date().toISOString(), sleep: pause };
  return standForElection({
    store: leaseStore(kube, { namespace, name }),
    // A pod that restarts in place is a new candidate.
    identity: `${identity}_${randomUUID().slice(0, 8)}`,
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
    throw new KcoverError(
      'address.taken',
      `intake.listen ${where}: ${error instanceof Error ? error.message : 'cannot listen'}`,
      { cause: error },
    );
  }
  const [bound] = intake.addresses();
  return { host: bound?.address ?? host, port: bound?.port ?? Number(port) };
}
