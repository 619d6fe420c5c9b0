import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { attachTestCluster } from '../../testbed/attach.ts';
import { setKubelet, setReady } from '../../testbed/failures.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { violations } from '../support/invariants.ts';
import { LiveKcover, quick } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;
const lost: SimulatedNode[] = [];

beforeAll(async () => {
  const { workflowBundle } = testServers();
  const workerSettings = { ...quick, recovery: { ...quick.recovery, deadNode: { after: '1s' } } };
  const controllerSettings = { nodes: { notReady: '2s' }, leaderElection: { lease: '6s', renew: '5s', retry: '1s' } };
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    workerSettings,
    controllerSettings,
  });
});
afterEach(async () => {
  for (const node of lost.splice(0)) {
    await setKubelet(live.cluster.api, node, 'running');
    await setReady(live.cluster.api, node, 'True');
  }
  await live?.clear();
});
afterAll(() => live?.close(), 120_000);

/** Stops the node's kubelet and writes at once what the real node controller writes after 50 seconds. */
async function lose(node: SimulatedNode): Promise<void> {
  lost.push(node);
  await setKubelet(live.cluster.api, node, 'dead');
  await setReady(live.cluster.api, node, 'Unknown');
}

describe('a node whose kubelet died', () => {
  it('has the whole job restarted elsewhere, with forced deletion only on itself, and a note that the old process is not proven dead', async () => {
    const job = await live.pytorch({ workers: 2, terminationSeconds: 1 });
    const [node, pod] = [job.nodes.at(-1), job.first.at(-1)];
    if (!node) throw new Error('the job has no pod on a node');
    await lose(node);
    const [record] = await live.settled(job);
    expect(record).toMatchObject({ outcome: 'restarted', because: expect.stringMatching(/not proven dead/) });
    expect(record?.faults.map(({ code }) => code)).toEqual(['node/not-ready']);
    expect(record?.stops.map(({ forced }) => forced?.map(({ uid }) => uid))).toEqual([[pod?.metadata?.uid]]);
    expect(record?.runningPods.map((one) => one.node)).not.toContain(node.name);
    expect(live.recorder.isQuarantined(node.name)).toBe(false);
    expect(violations(await live.facts(job))).toEqual([]);
    expect((await live.event(job, 'AttemptStopped', /not proven dead/)).type).toBe('Warning');
  });

  it('changes nothing when it comes back in time', async () => {
    const job = await live.pytorch();
    const [node] = job.nodes;
    if (!node) throw new Error('the job has no pod on a node');
    await setReady(live.cluster.api, node, 'Unknown');
    await setReady(live.cluster.api, node, 'True');
    await sleep(4000);
    await live.settled(job, { incidents: 0 });
    expect(live.records(job)).toEqual([]);
  });
});
