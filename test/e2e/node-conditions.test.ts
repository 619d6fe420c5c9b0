import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { attachTestCluster } from '../../testbed/attach.ts';
import { strategicMerge } from '../../testbed/api.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, shortLease } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

const controllerSettings = {
  ...shortLease,
  nodes: { conditions: { debounce: '500ms' }, allocatable: { debounce: '500ms' } },
};

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  live = await LiveKcover.start(cluster, { workflowBundle, controllerSettings });
});

const touched = new Map<SimulatedNode, Set<string>>();

const write = (node: SimulatedNode, status: object) =>
  live.cluster.api.core.patchNodeStatus({ name: node.name, body: { status } }, strategicMerge);

async function condition(node: SimulatedNode, type: string, status: string, reason: string): Promise<void> {
  touched.set(node, (touched.get(node) ?? new Set()).add(type));
  const lastTransitionTime = new Date();
  await write(node, { conditions: [{ type, status, reason, message: `${type} of a test`, lastTransitionTime }] });
}

const offers = (node: SimulatedNode, gpus: number) => write(node, { allocatable: { 'nvidia.com/gpu': String(gpus) } });

afterEach(async () => {
  for (const [node, types] of touched)
    await write(node, { conditions: [...types].map((type) => ({ type, $patch: 'delete' })) });
  touched.clear();
  await live?.clear();
}, 120_000);
afterAll(() => live?.close(), 120_000);

function lastNodeOf(job: LiveJob): SimulatedNode {
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} has no pod on a node`);
  return node;
}

const quarantinesOf = (node: SimulatedNode) =>
  live.recorder.quarantines().filter((span) => span.node === node.name).length;

/** A warning that comes after everything that the controller saw before has been sent. */
async function awaitSentAfter(node: SimulatedNode): Promise<void> {
  const reason = `Marker${randomUUID().slice(0, 8)}`;
  await condition(node, 'ReadonlyFilesystem', 'True', reason);
  await live.event({ name: node.name, uid: node.uid }, 'FaultObserved', new RegExp(reason));
}

describe('a node condition of another component', () => {
  it('that names an Xid gets the node quarantined and the job moved long before others replace the node', async () => {
    const job = await live.pytorch({ workers: 2 });
    const node = lastNodeOf(job);
    await condition(node, 'AcceleratedHardwareReady', 'False', 'NvidiaXID79Error');
    await live.quarantined(node);
    const records = await live.settled(job);
    expect(violations(await live.facts(job))).toEqual([]);
    expect(records).toMatchObject([{ outcome: 'restarted', stops: [{}] }]);
    const [fault] = records[0]?.faults ?? [];
    expect(fault).toMatchObject({ source: 'condition', code: 'xid/79', node: node.name, action: 'reboot' });
    expect(fault?.message).toContain(`replace the node from ${fault?.deadline} on`);
    // The whole recovery is over in the first half of the ten minutes.
    const half = Date.parse(fault?.deadline ?? '') - 5 * 60_000;
    expect(Date.parse(records[0]?.endedAt ?? '')).toBeLessThan(half);
    const now = live.recorder.podsOf(job).filter(({ gone }) => gone === undefined);
    expect(now.filter((pod) => pod.node === node.name)).toEqual([]);
  });

  it('that its writer never sets back does not quarantine the node again after a release, whichever process restarts', async () => {
    const job = await live.pytorch();
    const node = lastNodeOf(job);
    await condition(node, 'AcceleratedHardwareReady', 'False', 'NvidiaXID48Error');
    await live.quarantined(node);
    await live.settled(job);
    const before = quarantinesOf(node);
    const restart = async () => {
      await live.kcover.controller.kill('SIGTERM');
      await live.kcover.controller.start();
    };
    await restart();
    await awaitSentAfter(node);
    expect(quarantinesOf(node)).toBe(before);

    await live.release(node);
    await restart();
    await awaitSentAfter(node);
    expect([quarantinesOf(node), live.recorder.isQuarantined(node.name)]).toEqual([before, false]);
  });

  it('that is about software only warns', async () => {
    const job = await live.pytorch();
    const node = lastNodeOf(job);
    await condition(node, 'NetworkingReady', 'False', 'IPAMDNotReady');
    const event = await live.event({ name: node.name, uid: node.uid }, 'FaultObserved', /condition\/NetworkingReady/);
    expect(event.type).toBe('Warning');
    await awaitSentAfter(node);
    expect([live.records(job), live.recorder.isQuarantined(node.name)]).toEqual([[], false]);
  });
});

describe('a node that offers fewer GPUs than before', () => {
  it('is quarantined and its job moved; one that offers none is only unobservable', async () => {
    const job = await live.pytorch();
    const node = lastNodeOf(job);
    await offers(node, 0);
    await awaitSentAfter(node);
    expect(live.recorder.isQuarantined(node.name)).toBe(false);
    const { allocatable } = (await live.cluster.api.core.readNode({ name: node.name })).status ?? {};
    expect(allocatable?.['nvidia.com/gpu']).toBe('0');
    try {
      await offers(node, 7);
      await live.quarantined(node);
      const records = await live.settled(job);
      expect(records).toMatchObject([{ outcome: 'restarted', stops: [{}] }]);
      expect(records[0]?.faults).toContainEqual(
        expect.objectContaining({ source: 'allocatable', code: 'allocatable/missing-devices', node: node.name }),
      );
    } finally {
      await offers(node, 8);
    }
  });
});
