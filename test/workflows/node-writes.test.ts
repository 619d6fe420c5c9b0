import { describe, expect, it } from '@jest/globals';
import { nodeView, settings } from '../support/builders.ts';
import type { FakeCluster } from '../support/fake-cluster.ts';
import { useNodeRig } from '../support/node-rig.ts';
import { eventually, type Rig } from '../support/rig.ts';

let cluster: FakeCluster;
let rig: Rig;
let node: string;
const { fault, send, status, released, started } = useNodeRig((current) => ({ cluster, rig, node } = current));

describe('what a node’s workflow cannot write', () => {
  it('says that a release failed, keeps the quarantine, and releases when it can be written', async () => {
    cluster.settings = settings({ mode: 'act', quarantine: { askAgain: '300ms' } });
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    cluster.unwritable = 'an admission webhook denied the request';
    await handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'replaced the card' }] });
    await eventually(
      () => status(handle),
      (seen) => seen.because.includes('an admission webhook denied') && seen.waitingFor === 'another try to release it',
    );
    expect(await status(handle)).toMatchObject({
      phase: 'quarantined',
      because: expect.stringContaining('could not be released for ada'),
    });
    await eventually(
      () => cluster.reasons(),
      (reasons) => reasons.includes('NodeReleaseFailed'),
    );
    expect(cluster.nodeRecords.filter(({ ended }) => ended)).toEqual([]);
    cluster.unwritable = undefined;
    expect(await handle.result()).toMatchObject({ outcome: 'released', because: 'ada: replaced the card' });
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
  });

  it('says that a taint stays when it has lost the annotation that made it ours', async () => {
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    cluster.change(node, { taint: { value: 'xid-79', ours: false } });
    await handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'replaced the card' }] });
    expect(await handle.result()).toMatchObject({
      outcome: 'not-ours',
      because: 'ada: replaced the card; the taint stays',
    });
    expect(cluster.nodeRecords.at(-1)).toMatchObject({ ended: { outcome: 'not-ours' } });
    await eventually(
      () => cluster.reasons(),
      (reasons) => reasons.includes('NodeReleaseFailed'),
    );
  });

  it('releases its reservation while a quarantine cannot be written, and requests it again', async () => {
    const returned: string[] = [];
    const other = await rig.client.workflow.start('cluster', {
      workflowId: 'cluster',
      taskQueue: rig.taskQueue,
      args: [{ clusterUid: 'u' }],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    try {
      cluster.settings = settings({ mode: 'act', quarantine: { askAgain: '500ms' } });
      cluster.unwritable = 'an admission webhook denied the request';
      const handle = await send(fault());
      expect(
        await eventually(
          () => status(handle),
          (seen) => seen.phase === 'held',
        ),
      ).toMatchObject({
        because: expect.stringContaining(
          'could not be written: the Kubernetes API rejected the request: an admission webhook denied',
        ),
      });
      await eventually(
        async () => {
          const { events } = await other.fetchHistory();
          returned.push(
            ...(events ?? []).flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? []),
          );
          return returned;
        },
        (names) => names.includes('returned'),
      );
      await eventually(
        () => cluster.reasons(),
        (reasons) => reasons.includes('NodeQuarantineHeld'),
      );
      const before = cluster.reserving.length;
      cluster.unwritable = undefined;
      await eventually(
        () => status(handle),
        (seen) => seen.phase === 'quarantined',
      );
      expect(cluster.reserving.length).toBeGreaterThan(before);
      await released(handle);
    } finally {
      await other.terminate();
    }
  });

  it('keeps its reservation when a write that failed has added the taint after all', async () => {
    cluster.unwritable = 'no answer';
    cluster.writesTaintDespiteError = true;
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    cluster.unwritable = undefined;
    expect(await released(handle)).toMatchObject({ outcome: 'released' });
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
  });

  it('loses no fault of the machine that takes the name while the end of the one before is recorded', async () => {
    const handle = await send(fault());
    await eventually(
      () => cluster.nodeRecords.length,
      (length) => length > 0,
    );
    let write: () => void = () => undefined;
    cluster.recordGate = new Promise((resolve) => (write = resolve));
    cluster.nodes.delete(node);
    await handle.signal('nodeObserved', { quarantinedByUs: false });
    await eventually(
      async () => (await handle.describe()).raw.pendingActivities?.map((each) => each.activityType?.name),
      (names) => names?.includes('recordIncident') === true,
    );
    cluster.nodes.set(node, nodeView({ name: node, uid: 'another', systemUuid: 'another machine' }));
    await send(fault({ id: 'kernel/boot-2/7', code: 'xid/48', kernel: { bootId: 'boot-2', sequence: 7 } }));
    write();
    expect(
      await eventually(
        () => status(handle),
        (seen) => seen.phase === 'quarantined' && seen.uid === 'another',
      ),
    ).toMatchObject({ faults: [{ code: 'xid/48' }] });
    await released(handle);
  });

  it('reserves as a preflight quarantine only while the node has no other fault', async () => {
    cluster.mayReserve = '3 nodes are out';
    const tested = {
      id: `preflight/${node}`,
      source: 'preflight',
      code: 'preflight/slow-node',
      namespace: 'team-a',
    } as const;
    const handle = await send(fault(tested));
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'held',
    );
    expect(cluster.reserving).toMatchObject([
      { preflight: { namespace: 'team-a' } },
      { preflight: { namespace: 'team-a' } },
    ]);
    const before = cluster.reserving.length;
    await send(fault({ id: 'kernel/boot-1/101', kernel: { bootId: 'boot-1', sequence: 101 } }));
    await eventually(
      () => cluster.reserving.length,
      (length) => length > before,
    );
    expect(cluster.reserving.at(-1)).not.toHaveProperty('preflight');
    await handle.terminate();
    started.splice(-2);
  });
});
