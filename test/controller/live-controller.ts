/** A controller in this process, against a running test cluster, and how an agent talks to it. No worker runs its workflows, so their signals stay in their history. */

import { Client, Connection } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { generate } from 'selfsigned';
import { Agent, fetch } from 'undici';
import { reportPath } from '../../contract/wire/reports.ts';
import { controllerSettings } from '../../contract/settings/settings.schema.ts';
import { type Controller, startController } from '../../controller/index.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { agentAccount, agentAudience, agentNamespace } from '../../testbed/agents.ts';
import { type Api, connect } from '../../testbed/api.ts';
import { podToken } from '../../testbed/tokens.ts';
import { until } from '../../testbed/until.ts';

/** Of one test file. */
export const run = randomUUID().slice(0, 8);
export const bootId = randomUUID();

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

export const kernelFault = (sequence: number) => ({
  id: `kernel/${bootId}/${sequence}`,
  source: 'kernel',
  code: 'xid/79',
  message: 'GPU has fallen off the bus.',
  seenAt: new Date().toISOString(),
  kernel: { bootId, sequence },
});

export const batch = (node: string, seqs: readonly number[], more: object = {}): object => ({
  schema: 1,
  node,
  bootId,
  stream: run,
  reports: seqs.map((seq) => ({ seq, fault: kernelFault(seq) })),
  gaps: [],
  ...more,
});

/** Its identity in Kubernetes, by default the administrator; and whether it stands for election. */
export interface LiveOptions {
  readonly kubeconfig?: string;
  readonly election?: { readonly enabled?: boolean; readonly name?: string };
  /** As in the settings file. */
  readonly progress?: object;
  readonly nodes?: object;
}

export class LiveController {
  readonly api: Api;
  readonly temporal: Client;
  readonly #kube: Kube;
  readonly #directory: string;
  readonly #certificate: string;
  readonly #options: Pick<LiveOptions, 'election' | 'progress' | 'nodes'>;
  readonly metrics = new Registry();
  #controller: Controller | undefined;

  private constructor(
    api: Api,
    temporal: Client,
    kube: Kube,
    directory: string,
    certificate: string,
    options: LiveOptions,
  ) {
    this.api = api;
    this.temporal = temporal;
    this.#kube = kube;
    this.#directory = directory;
    this.#certificate = certificate;
    this.#options = options;
  }

  /** Resolves when it leads. */
  static async open(options: LiveOptions = {}): Promise<LiveController> {
    const cluster = JSON.parse(readFileSync(process.env['KCOVER_TEST_CLUSTER'] ?? '', 'utf8')) as {
      kubeconfig: string;
      temporalAddress: string;
    };
    const temporal = new Client({ connection: await Connection.connect({ address: cluster.temporalAddress }) });
    const directory = mkdtempSync(join(tmpdir(), 'kcover-controller-'));
    const certificate = await generate([{ name: 'commonName', value: 'localhost' }], {
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
    });
    writeFileSync(join(directory, 'tls.crt'), certificate.cert);
    writeFileSync(join(directory, 'tls.key'), certificate.private);
    const live = new LiveController(
      connect(cluster.kubeconfig),
      temporal,
      connectKube({ kubeconfig: options.kubeconfig ?? cluster.kubeconfig }),
      directory,
      certificate.cert,
      options,
    );
    await live.startAgain('first');
    return live;
  }

  /** The certificate authority of the intake. */
  get certificateFile(): string {
    return join(this.#directory, 'tls.crt');
  }

  get controller(): Controller {
    if (!this.#controller) throw new Error('it was not started');
    return this.#controller;
  }

  /** Replaces the previous one, which has been stopped. */
  async startAgain(identity: string, preflight?: object): Promise<void> {
    this.metrics.clear();
    const started = await this.start(identity, this.metrics, this.#options.election, preflight);
    this.#controller = started;
    // Longer than a Lease that could not be released.
    await until(`${identity} leads`, 90_000, async () =>
      started.leading() ? { found: true } : { missing: 'not yet' },
    );
  }

  start(
    identity: string,
    registry = new Registry(),
    election = this.#options.election,
    preflight?: object,
  ): Promise<Controller> {
    const settings = controllerSettings.parse({
      temporal: { taskQueue: `controller-test-${run}` },
      progress: this.#options.progress,
      nodes: this.#options.nodes,
      jobs: { lookAgain: '2s' },
      preflight,
      intake: {
        listen: '127.0.0.1:0',
        tls: { certFile: join(this.#directory, 'tls.crt'), keyFile: join(this.#directory, 'tls.key') },
      },
      leaderElection: {
        namespace: ownNamespace,
        name: `kcover-test-${run}`,
        lease: '30s',
        renew: '20s',
        retry: '500ms',
        ...election,
      },
    });
    const log = pino({ level: process.env['KCOVER_TEST_LOG'] ?? 'silent' });
    const pod = { namespace: ownNamespace, name: identity };
    return startController({
      settings,
      kube: this.#kube,
      temporal: this.temporal,
      identity,
      pod,
      log,
      metrics: registry,
    });
  }

  async post(body: unknown, token: string | undefined, to = this.controller, path = reportPath): Promise<HttpAnswer> {
    const dispatcher = new Agent({ connect: { ca: this.#certificate } });
    const answer = await fetch(`https://127.0.0.1:${to.address.port}${path}`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const result = { status: answer.status, body: await answer.json() };
    await dispatcher.close();
    return result;
  }

  /** The agents' pods in the order of their nodes. */
  async agentOf(index: number): Promise<{ pod: { namespace: string; name: string; uid: string }; node: string }> {
    const { items } = await this.api.core.listNamespacedPod({
      namespace: agentNamespace,
      labelSelector: 'app.kubernetes.io/component=agent',
    });
    const running = items.filter(
      ({ metadata, status }) => metadata?.deletionTimestamp === undefined && status?.phase === 'Running',
    );
    const pod = running.toSorted((a, b) => (a.spec?.nodeName ?? '').localeCompare(b.spec?.nodeName ?? ''))[index];
    return {
      pod: { namespace: agentNamespace, name: pod?.metadata?.name ?? '', uid: pod?.metadata?.uid ?? '' },
      node: pod?.spec?.nodeName ?? '',
    };
  }

  async tokenOf(index: number, account: string = agentAccount, audience: string = agentAudience): Promise<string> {
    return podToken(this.api, (await this.agentOf(index)).pod, account, audience);
  }

  /** Names of all signals of a workflow, and the fault ids in them. */
  async signalsOf(workflowId: string): Promise<string[]> {
    try {
      const { events } = await this.temporal.workflow.getHandle(workflowId).fetchHistory();
      return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => {
        if (!signal) return [];
        const [payload] = (signal.input?.payloads ?? []).map(
          ({ data }) =>
            JSON.parse(Buffer.from(data ?? []).toString()) as {
              faults?: { id: string }[];
              change?: string;
              label?: boolean;
              uid?: string;
            },
        );
        return (
          payload?.faults?.map(({ id }) => id) ?? [
            [signal.signalName, payload?.change ?? (payload?.label ? 'label' : undefined)].filter(Boolean).join(' '),
          ]
        );
      });
    } catch {
      return [];
    }
  }

  awaitSignal(workflowId: string, what: string | RegExp): Promise<string[]> {
    return until(`${workflowId} received ${what}`, 60_000, async () => {
      const all = await this.signalsOf(workflowId);
      return all.some((each) => (typeof what === 'string' ? each === what : what.test(each)))
        ? { found: all }
        : { missing: `received ${JSON.stringify(all)}` };
    });
  }

  started(workflowId: string): Promise<true> {
    return until(`${workflowId} runs`, 60_000, async () => {
      const { status } = await this.temporal.workflow.getHandle(workflowId).describe();
      return status.name === 'RUNNING' ? { found: true as const } : { missing: status.name };
    });
  }

  async close(): Promise<void> {
    await this.#controller?.stop();
    await this.temporal.connection.close();
    await this.#kube.close();
    rmSync(this.#directory, { recursive: true });
  }
}
