import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/rig.ts';
import { liveCluster, type LiveCluster } from './live-cluster.ts';

const disk = Promise.withResolvers<string>();
let cluster: LiveCluster;
beforeAll(async () => {
  cluster = await liveCluster({
    records: { quarantinesSince: async () => [], put: () => disk.promise, sweep: async () => 0 },
  });
});
afterAll(() => cluster.close());

const record = (timeouts: { readonly heartbeatTimeout?: '10s' }) =>
  cluster.client.activity.start('recordIncident', {
    id: `record-${randomUUID()}`,
    taskQueue: cluster.taskQueue,
    args: [{ incident: 'recovery/train/llm/u/x' }],
    startToCloseTimeout: '120s',
    ...timeouts,
  });

describe('an activity that waits for something else', () => {
  it('sends heartbeats where the workflow expects them, and none where it does not', async () => {
    const [waitedFor, other] = await Promise.all([record({ heartbeatTimeout: '10s' }), record({})]);
    await eventually(
      () => waitedFor.describe(),
      ({ lastHeartbeatTime }) => lastHeartbeatTime !== undefined,
    );
    // The same time once more.
    await sleep(3000);
    expect((await other.describe()).lastHeartbeatTime).toBeUndefined();
    disk.resolve('file:///records/x.json');
    await expect(Promise.all([waitedFor.result(), other.result()])).resolves.toEqual([
      { address: 'file:///records/x.json' },
      { address: 'file:///records/x.json' },
    ]);
  });
});
