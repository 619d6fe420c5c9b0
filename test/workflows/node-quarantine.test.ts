import { describe, expect, it } from '@jest/globals';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { nodeView, settings } from '../support/builders.ts';
import type { FakeCluster } from '../support/fake-cluster.ts';
import { useNodeRig } from '../support/node-rig.ts';
import { eventually, type Rig } from '../support/rig.ts';

let cluster: FakeCluster;
let rig: Rig;
let node: string;
const { fault, send, status, released, started } = useNodeRig((current) => ({ cluster, rig, node } = current));

describe('the workflow of a node', () => {
  it('quarantines for a fault of the hardware and keeps it until a person releases it', async () => {
    const handle = await send(fault());
    expect(
      await eventually(
        () => status(handle),
        (seen) => seen.phase === 'quarantined',
      ),
    ).toMatchObject({ because: expect.stringContaining('xid/79'), waitingFor: `kcover node release ${node}` });
    expect(cluster.nodes.get(node)?.taint).toMatchObject({ value: 'xid-79', ours: true });
    expect(await released(handle)).toMatchObject({ outcome: 'released', because: 'ada: replaced the card' });
    expect(cluster.nodes.get(node)).toMatchObject({ judged: { bootId: 'boot-1', sequence: 100 } });
    expect(cluster.nodeRecords).toMatchObject([
      { node, faults: [{ code: 'xid/79' }] },
      { ended: { outcome: 'released', because: 'ada: replaced the card' } },
    ]);
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
  });

  it('loses no fault when the cluster cannot be observed at its first look', async () => {
    cluster.unreachable = 3;
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    await released(handle);
  });

  it('loses no Event to an API server that fails, and waits for none before it quarantines', async () => {
    const hear = Promise.withResolvers<void>();
    cluster.deaf = hear.promise;
    cluster.eventsLost = 2;
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    expect(cluster.announced).toEqual([]);
    hear.resolve();
    await released(handle);
    expect(cluster.announced.map(({ reason }) => reason).toSorted()).toEqual([
      'FaultObserved',
      'NodeQuarantined',
      'NodeReleased',
    ]);
  });

  it('does not quarantine again for a line that was judged before a release', async () => {
    await released(await send(fault()));
    const again = await send(fault());
    await eventually(
      () => status(again),
      (seen) => seen.phase === 'watching' && seen.because !== 'reading the node',
    );
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
    await send(fault({ id: 'kernel/boot-1/101', kernel: { bootId: 'boot-1', sequence: 101 } }));
    await eventually(
      () => status(again),
      (seen) => seen.phase === 'quarantined',
    );
    await released(again);
  });

  it('only records what does not concern the node, and ends after a quiet time', async () => {
    cluster.settings = settings({ mode: 'act', quarantine: { quiet: '50ms' } });
    expect(await (await send(fault({ code: 'xid/13', action: 'restart-app' }))).result()).toMatchObject({
      outcome: 'quiet',
    });
    expect(cluster.announced).toMatchObject([{ type: 'Normal', reason: 'FaultObserved' }]);
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
  });

  it('warns with the command for an unknown code', async () => {
    cluster.settings = settings({ mode: 'act', quarantine: { quiet: '50ms' } });
    await (await send(fault({ code: 'xid/999', standing: 'unknown' }))).result();
    expect(cluster.announced).toMatchObject([
      { type: 'Warning', message: expect.stringContaining(`kcover node quarantine ${node}`) },
    ]);
  });

  it('holds while it is refused, and goes on when a reservation is available', async () => {
    cluster.mayReserve = '2 nodes are out and 2 may be';
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'held' && seen.because.includes('2 nodes are out'),
    );
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
    await eventually(
      () => cluster.reasons(),
      (reasons) => reasons.includes('NodeQuarantineHeld'),
    );
    cluster.mayReserve = true;
    await handle.signal('recheck');
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    await released(handle);
  });

  it('asks again by itself when no notification comes', async () => {
    cluster.settings = settings({ mode: 'act', quarantine: { askAgain: '100ms' } });
    cluster.mayReserve = 'paused by ada: network work';
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'held',
    );
    cluster.mayReserve = true;
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    await released(handle);
  });

  it('treats a taint that was removed by hand as a release', async () => {
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    cluster.nodes.set(node, nodeView({ name: node, uid: `uid-${node}` }));
    await handle.signal('nodeObserved', { quarantinedByUs: false });
    expect(await handle.result()).toMatchObject({ outcome: 'released', because: expect.stringContaining('by hand') });
  });

  it('quarantines the same machine again when it returns under another UID', async () => {
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    cluster.nodes.set(node, nodeView({ name: node, uid: 'new-uid', systemUuid: `machine-${node}` }));
    await handle.signal('nodeObserved', { uid: 'new-uid', quarantinedByUs: false });
    await eventually(
      () => cluster.nodes.get(node)?.taint,
      (taint) => taint?.ours === true,
    );
    await released(handle);
  });

  it('ends when the node is gone, and keeps what it was quarantined for', async () => {
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    cluster.nodes.delete(node);
    await handle.signal('nodeObserved', { quarantinedByUs: false });
    expect(await handle.result()).toMatchObject({
      outcome: 'gone',
      systemUuid: `machine-${node}`,
      quarantinedFor: [{ code: 'xid/79' }],
    });
  });

  it('quarantines at the request of a person, in mode observe too', async () => {
    cluster.settings = settings();
    started.push(`node/${node}`);
    const handle = await rig.client.workflow.signalWithStart('nodeQuarantine', {
      workflowId: `node/${node}`,
      taskQueue: rig.taskQueue,
      args: [{ node }],
      signal: 'quarantine',
      signalArgs: [{ by: 'ada', reason: 'smells burnt' }],
    });
    expect(
      await eventually(
        () => status(handle),
        (seen) => seen.phase === 'quarantined',
      ),
    ).toMatchObject({ by: 'ada', because: 'ada asked: smells burnt' });
    await released(handle);
  });

  it('takes over a taint that an earlier run left, and can release it', async () => {
    cluster.nodes.set(
      node,
      nodeView({
        name: node,
        uid: `uid-${node}`,
        taint: { value: 'xid-79', ours: true, incident: `node/${node}/before` },
      }),
    );
    const handle = await send(fault({ code: 'xid/43', action: 'ignore' }));
    expect(
      await eventually(
        () => status(handle),
        (seen) => seen.phase === 'quarantined',
      ),
    ).toMatchObject({ because: 'found quarantined: xid-79' });
    expect(await released(handle)).toMatchObject({ outcome: 'released' });
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
  });

  it('releases at once a node whose taint an earlier run left, when that is what it was started for', async () => {
    cluster.nodes.set(
      node,
      nodeView({
        name: node,
        uid: `uid-${node}`,
        taint: { value: 'xid-79', ours: true, incident: `node/${node}/before` },
      }),
    );
    const workflowId = `node/${node}`;
    started.push(workflowId);
    await rig.client.workflow.executeUpdateWithStart('release', {
      args: [{ by: 'ada', reason: 'replaced the card' }],
      startWorkflowOperation: new WithStartWorkflowOperation('nodeQuarantine', {
        workflowId,
        taskQueue: rig.taskQueue,
        args: [{ node }],
        workflowIdConflictPolicy: 'FAIL',
      }),
    });
    expect(await rig.client.workflow.getHandle(workflowId).result()).toMatchObject({
      outcome: 'released',
      because: 'ada: replaced the card',
    });
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
    expect(cluster.reasons()).toContain('NodeReleased');
  });

  it('does not quarantine what was refused before once the mode is observe', async () => {
    cluster.mayReserve = '2 nodes are out and 2 may be';
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'held',
    );
    cluster.settings = settings({ quarantine: { quiet: '200ms' } });
    cluster.mayReserve = true;
    await handle.signal('recheck');
    expect(await handle.result()).toMatchObject({ outcome: 'quiet' });
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
  });

  it.each([
    ['nothing', undefined],
    ['a number', 7],
    [
      'a fault of the wrong shape',
      { faults: [{ id: 'x', code: 'xid/79', kernel: null, source: 'kernel', message: 'm', seenAt: 'yesterday' }] },
    ],
    ['a null among faults', { faults: [null] }],
  ])('drops %s instead of a fault and goes on', async (_, payload) => {
    const handle = await send(fault());
    await handle.signal('faultsObserved', payload);
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    await released(handle);
  });

  it('refuses to release what is not quarantined', async () => {
    const handle = await send(fault({ code: 'xid/43', action: 'ignore' }));
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'watching' && seen.because !== 'reading the node',
    );
    await expect(handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'x' }] })).rejects.toMatchObject({
      cause: { message: `${node} is not quarantined` },
    });
    await handle.terminate();
    started.pop();
  });
});
