/** A worker on a task queue of its own, with the activities of the test; what the test names is replayed at the end. */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { withAnnouncements } from '../../activities/announcements.ts';
import type { Activities } from '../../contract/wire/activities.ts';
import { waitsTaskQueue } from '../../contract/ids.ts';
import { until } from '../../testbed/until.ts';

export interface TestServers {
  readonly temporalAddress: string;
  readonly workflowBundle: string;
}

/** The servers that the global set-up started; a missing server fails the test that needs it. */
export function testServers<T extends TestServers = TestServers>(): T {
  const file = process.env['KCOVER_TEST_CLUSTER'];
  if (file === undefined)
    throw new Error(
      'no test servers\n  because: KCOVER_TEST_CLUSTER is not set\n  try:     npm test, which starts them',
    );
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

export interface Rig {
  readonly client: Client;
  readonly taskQueue: string;
  /** For `activitiesOnly`: a worker that runs the workflows until it is stopped. */
  runWorkflows(): Promise<{ stop(): Promise<void> }>;
  /** Replays histories with the current code, all on one worker; throws when one diverges. */
  replay(...workflowIds: string[]): Promise<void>;
  /** The same when the rig closes, together with all others, because starting a worker takes a second. */
  replayAtEnd(workflowId: string, runId?: string): void;
  /** Throws when a history of `replayAtEnd` diverges. */
  close(): Promise<void>;
}

let installed = false;

/** Once for each process. */
export function quietRuntime(): void {
  if (!installed) Runtime.install({ logger: new DefaultLogger('ERROR') });
  installed = true;
}

export interface RigOptions {
  /** By default the servers of the whole run. */
  readonly ownTemporal?: string;
  /** Of a rig that was closed: its workers are started again. */
  readonly taskQueue?: string;
  /** Number of concurrent activities that wait for the cluster. */
  readonly waits?: number;
  /** Workflows run only while the test lets them. */
  readonly activitiesOnly?: boolean;
}

export async function startRig(
  given: Activities,
  { ownTemporal, taskQueue = `test-${randomUUID()}`, waits = 100, activitiesOnly = false }: RigOptions = {},
): Promise<Rig> {
  quietRuntime();
  const { temporalAddress, workflowBundle } = testServers();
  const address = ownTemporal ?? temporalAddress;
  const [connection, native] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  const client = new Client({ connection });
  const activities = { ...withAnnouncements(given, { warn: () => undefined }) };
  const workflows = { workflowBundle: { codePath: workflowBundle } };
  const effects = await Worker.create({
    connection: native,
    taskQueue,
    activities,
    ...(!activitiesOnly && workflows),
  });
  const waiting = await Worker.create({
    connection: native,
    taskQueue: waitsTaskQueue(taskQueue),
    activities,
    maxConcurrentActivityTaskExecutions: waits,
  });
  const workers = [effects, waiting];
  const atEnd: Execution[] = [];
  const running = workers.map((worker) => worker.run());
  return {
    client,
    taskQueue,
    async runWorkflows() {
      const local = { activities, enableNonLocalActivities: false };
      const worker = await Worker.create({ connection: native, taskQueue, ...workflows, ...local });
      const end = worker.run();
      return {
        async stop() {
          worker.shutdown();
          await end;
        },
      };
    },
    replay: (...workflowIds) =>
      replayed(
        client,
        workflowIds.map((workflowId) => ({ workflowId })),
      ),
    replayAtEnd: (workflowId, runId) => void atEnd.push({ workflowId, ...(runId !== undefined && { runId }) }),
    async close() {
      try {
        await replayed(client, atEnd.splice(0));
      } finally {
        for (const worker of workers) worker.shutdown();
        await Promise.all(running);
        await native.close();
        await connection.close();
      }
    },
  };
}

interface Execution {
  readonly workflowId: string;
  readonly runId?: string;
}

async function replayed(client: Client, executions: readonly Execution[]): Promise<void> {
  async function* histories() {
    for (const { workflowId, runId } of executions)
      yield { workflowId, history: await client.workflow.getHandle(workflowId, runId).fetchHistory() };
  }
  if (executions.length === 0) return;
  const diverged: Error[] = [];
  const workflowBundle = { codePath: testServers().workflowBundle };
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories()))
    if (error) diverged.push(new Error(`the history of ${workflowId} does not replay: ${error.message}`));
  if (diverged.length > 0) throw new AggregateError(diverged, diverged.map(({ message }) => message).join('\n'));
}

/** Polls until the condition holds; the error says what was seen last. */
export async function eventually<T>(
  look: () => Promise<T> | T,
  ok: (seen: T) => boolean,
  withinMs = 60_000,
): Promise<T> {
  return until('what the test waits for', withinMs, async () => {
    const seen = await look();
    return ok(seen) ? { found: seen } : { missing: `last seen: ${JSON.stringify(seen)}` };
  });
}
