/** The test servers as activities use them: a real API server, a real Temporal, and a worker for activities only. */

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { createActivities, directoryEvidence, directoryRecords } from '../../activities/index.ts';
import type { RecordStore } from '../../activities/records.ts';
import type { Activities } from '../../contract/wire/activities.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { type Api, connect } from '../../testbed/api.ts';
import { settings } from '../support/builders.ts';
import { quietRuntime, testServers, type TestServers } from '../support/rig.ts';

interface LiveServers extends TestServers {
  readonly kubeconfig: string;
}

export interface LiveCluster {
  readonly kube: Kube;
  readonly api: Api;
  readonly client: Client;
  readonly taskQueue: string;
  /** Runs one activity as Temporal runs it: with heartbeats, retries and cancellation. */
  run<N extends keyof Activities>(
    name: N,
    request: Parameters<Activities[N]>[0],
  ): Promise<Awaited<ReturnType<Activities[N]>>>;
  close(): Promise<void>;
}

interface LiveClusterOptions {
  /** Default: a new one. */
  readonly taskQueue?: string;
  /** Where incidents are recorded; default: a directory. */
  readonly records?: RecordStore;
  readonly mode?: 'observe' | 'act';
  /** How the worker reaches the API server; default: like the test itself. */
  readonly kubeconfig?: string;
  /** Runs workflows too. */
  readonly workflows?: true;
  /** Settings of the repair of nodes. */
  readonly remediation?: object;
}

export async function liveCluster({
  taskQueue = `test-${randomUUID()}`,
  records = directoryRecords(join(tmpdir(), taskQueue)),
  mode = 'act',
  kubeconfig: ofWorker,
  workflows,
  remediation = {},
}: LiveClusterOptions = {}): Promise<LiveCluster> {
  quietRuntime();
  const { kubeconfig, temporalAddress: address, workflowBundle } = testServers<LiveServers>();
  const kube = connectKube({ kubeconfig: ofWorker ?? kubeconfig });
  const [connection, native] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  const client = new Client({ connection });
  const activities = createActivities({
    kube,
    settings: settings({ mode, temporal: { taskQueue }, remediation }),
    namespace: ownNamespace,
    temporal: () => client,
    records,
    evidence: directoryEvidence({
      directory: join(tmpdir(), taskQueue, 'evidence'),
      keepMs: 3_600_000,
      most: 2 ** 30,
      share: 100,
      now: Date.now,
    }),
    log: pino({ level: 'silent' }),
    now: Date.now,
  });
  const worker = await Worker.create({
    connection: native,
    taskQueue,
    activities: { ...activities },
    shutdownForceTime: '5s',
    maxHeartbeatThrottleInterval: '1s',
    ...(workflows && { workflowBundle: { codePath: workflowBundle } }),
  });
  const running = worker.run();
  return {
    kube,
    api: connect(kubeconfig),
    client,
    taskQueue,
    run: (name, request) =>
      client.activity.execute(name, {
        id: `${name}-${randomUUID()}`,
        taskQueue,
        args: [request],
        startToCloseTimeout: '60s',
        heartbeatTimeout: '10s',
        retry: { initialInterval: '200ms' },
      }),
    async close() {
      worker.shutdown();
      await running;
      await kube.close();
      await native.close();
      await connection.close();
    },
  };
}
