import { describe, expect, it } from '@jest/globals';
import { settings } from '../support/builders.ts';
import type { FakeCluster } from '../support/fake-cluster.ts';
import { useNodeRig } from '../support/node-rig.ts';
import { eventually } from '../support/rig.ts';

let cluster: FakeCluster;
let node: string;
const { fault, send, status } = useNodeRig((current) => ({ cluster, node } = current));

describe('a release that is refused for long', () => {
  it('judges a fault that comes while a release is refused for long, and says that it is', async () => {
    cluster.settings = settings({ mode: 'act', quarantine: { askAgain: '1s' } });
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    cluster.forbidden = 'nodes gpu is forbidden';
    await handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'replaced the card' }] });
    await eventually(
      async () => (await handle.describe()).raw.pendingActivities?.map((each) => each.activityType?.name),
      (names) => names?.includes('releaseNode') === true,
    );
    await handle.signal('faultsObserved', {
      faults: [fault({ id: 'kernel/boot-1/101', code: 'xid/48', kernel: { bootId: 'boot-1', sequence: 101 } })],
    });
    const refused = await eventually(
      () => status(handle),
      (seen) => seen.faults.some(({ code }) => code === 'xid/48'),
      150_000,
    );
    expect(refused.because).toContain('nodes gpu is forbidden');
    expect(cluster.nodes.get(node)?.taint).toMatchObject({ ours: true });
    await eventually(
      () => cluster.announced,
      (all) =>
        all.some(({ reason, message }) => reason === 'NodeReleaseFailed' && message.includes('nodes gpu is forbidden')),
    );
    cluster.forbidden = undefined;
    expect(await handle.result()).toMatchObject({ outcome: 'released', because: 'ada: replaced the card' });
  });
});
