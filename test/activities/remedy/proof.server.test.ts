import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MachineView, ProofRequest } from '../../../contract/remedy/remedy.ts';
import { reboot, setReady } from '../../../testbed/failures.ts';
import { strategicMerge } from '../../../testbed/api.ts';
import type { SimulatedNode } from '../../../testbed/nodes.ts';
import { remedyRig, type RemedyRig } from './remedy-rig.ts';

let rig: RemedyRig;
let node: SimulatedNode;
beforeAll(async () => {
  rig = await remedyRig({});
  const last = rig.nodes.at(-1);
  if (!last) throw new Error('there are no nodes');
  node = last;
});
afterAll(() => rig.close());

async function machine(): Promise<MachineView> {
  const seen = await rig.cluster.run('observeMachine', { node: node.name });
  if (!seen) throw new Error('it is gone');
  return seen;
}
const proofOf = async (more: Partial<ProofRequest>) =>
  rig.cluster.run('awaitProof', {
    node: node.name,
    before: await machine(),
    proof: ['ready'],
    timeoutMs: 30_000,
    ...more,
  });

const gpus = (count: number) =>
  rig.cluster.api.core.patchNodeStatus(
    { name: node.name, body: { status: { allocatable: { 'nvidia.com/gpu': String(count) } } } },
    strategicMerge,
  );

describe('a machine', () => {
  it('is what its Node object says, and nothing when that is gone', async () => {
    expect(await machine()).toEqual({
      uid: node.uid,
      systemUuid: expect.stringMatching(/^[\w-]{36}$/),
      bootId: expect.stringMatching(/^[\w-]{36}$/),
      ready: true,
      accelerators: { 'nvidia.com/gpu': expect.any(Number) },
    });
    expect(await rig.cluster.run('observeMachine', { node: 'none' })).toBeNull();
  });
});

describe('the proof of a repair', () => {
  it('is a new boot id of a node that is ready', async () => {
    const before = await machine();
    const proof = proofOf({ before, proof: ['rebooted', 'ready'] });
    await setReady(rig.cluster.api, node, 'Unknown');
    await reboot(rig.cluster.api, node);
    await setReady(rig.cluster.api, node, 'True');
    expect(await proof).toEqual({
      outcome: 'proven',
      because: expect.stringMatching(`^its boot id was ${before.bootId} and is [\\w-]{36}; it is ready$`),
    });
  });

  it('is missing when its time is over, and the sentence says what', async () => {
    const { bootId } = await machine();
    expect(await proofOf({ proof: ['ready', 'rebooted'], timeoutMs: 2000 })).toEqual({
      outcome: 'not-proven',
      because: `after 2s its boot id is still ${bootId}`,
    });
  });

  it('is as many accelerators as the node has', async () => {
    const { accelerators } = await machine();
    const all = accelerators['nvidia.com/gpu'] ?? 0;
    await gpus(all - 1);
    const before = await machine();
    expect(await proofOf({ before, proof: ['allocatable'], timeoutMs: 2000 })).toMatchObject({
      outcome: 'not-proven',
      because: `after 2s it has ${all - 1} of ${all} nvidia.com/gpu`,
    });
    const proof = proofOf({ before, proof: ['allocatable'] });
    await gpus(all);
    expect(await proof).toEqual({ outcome: 'proven', because: `it has ${all} nvidia.com/gpu` });
  });

  it.each([
    ['was replaced', () => node.name],
    ['is gone', () => 'none'],
  ])('is not awaited of a node that %s', async (what, name) => {
    const before = { ...(await machine()), uid: 'another' };
    expect(await proofOf({ node: name(), before })).toEqual({ outcome: 'gone', because: `the node ${what}` });
  });
});
