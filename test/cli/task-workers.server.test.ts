import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NativeConnection, type Worker } from '@temporalio/worker';
import { createWorker, forEffects, forWaits, runWorkers } from '../../cli/roles/task-workers.ts';
import { waitsTaskQueue } from '../../contract/ids.ts';
import { FakeCluster } from '../support/fake-cluster.ts';
import { quietRuntime, testServers } from '../support/rig.ts';

let connection: NativeConnection;
beforeAll(async () => {
  quietRuntime();
  connection = await NativeConnection.connect({ address: testServers().temporalAddress });
});
afterAll(() => connection.close());

async function bothWorkers(): Promise<readonly [Worker, Worker]> {
  const taskQueue = `both-${randomUUID()}`;
  const common = { connection, namespace: 'default', taskQueue, activities: new FakeCluster().activities() };
  const effects = await createWorker(forEffects(common, { codePath: testServers().workflowBundle }));
  const waits = await createWorker(forWaits(common, 5));
  expect([effects.options.taskQueue, waits.options.taskQueue]).toEqual([taskQueue, waitsTaskQueue(taskQueue)]);
  return [effects, waits];
}

const states = (workers: readonly Worker[]): string[] => workers.map((worker) => worker.getState());

describe('the two workers of one process', () => {
  it('run side by side and end together when the process is asked to', async () => {
    const workers = await bothWorkers();
    const stopping = new AbortController();
    const running = runWorkers(workers, stopping.signal);
    await sleep(500);
    expect(states(workers)).toEqual(['RUNNING', 'RUNNING']);
    stopping.abort();
    await running;
    expect(states(workers)).toEqual(['STOPPED', 'STOPPED']);
  });

  it.each([
    ['effects', 0],
    ['waits', 1],
  ] as const)('end together when the one for %s ends by itself', async (_, which) => {
    const workers = await bothWorkers();
    const running = runWorkers(workers, new AbortController().signal);
    await sleep(500);
    workers[which].shutdown();
    await running;
    expect(states(workers)).toEqual(['STOPPED', 'STOPPED']);
  });
});
