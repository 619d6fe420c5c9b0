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
    const events = Promise.withResolvers<void>();
    cluster.eventsGate = events.promise;
    cluster.failingEvents = 2;
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    expect(cluster.announced).toEqual([]);
    events.resolve();
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

  it('keeps new pods off a node with an unknown code, asks a person, and tells its jobs when one decides', async () => {
    const handle = await send(fault({ code: 'xid/999', standing: 'unknown' }));
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'quarantined',
    );
    expect(cluster.notifiedStates).toEqual([]);
    await eventually(
      () => cluster.announced.map(({ message }) => message),
      (messages) =>
        messages.some((one) => /a person must decide; .*kcover node quarantine .*kcover node release/.test(one)),
    );
    await handle.signal('quarantine', { by: 'ada', reason: 'known to be bad' });
    await eventually(
      () => cluster.notifiedStates,
      (states) => states.includes('quarantined'),
    );
    await released(handle);
  });

  it('counts over a release, because the Node object keeps what was counted', async () => {
    cluster.settings = settings({
      mode: 'act',
      faults: {
        rules: [
          {
            name: 'xid-13-same-place',
            codes: ['xid/13'],
            by: 'place',
            because: 'Xid 13 returned at the same GPC and TPC',
          },
        ],
      },
    });
    const warp = (sequence: number, minutesAgo: number) =>
      fault({
        id: `kernel/boot-1/${sequence}`,
        kernel: { bootId: 'boot-1', sequence },
        code: 'xid/13',
        action: 'restart-app',
        message: 'Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): Out Of Range Address',
        seenAt: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
      });
    const broken = fault({ seenAt: new Date(Date.now() - 30 * 60_000).toISOString() });
    await released(await send(warp(99, 60), broken));
    expect(cluster.nodes.get(node)?.history).toMatchObject([{ code: 'xid/13' }, { code: 'xid/79' }]);
    const handle = await send(warp(200, 0));
    const seen = await eventually(
      () => status(handle),
      ({ phase }) => phase === 'quarantined',
    );
    expect(seen.because).toMatch(/same GPC and TPC/);
    await released(handle);
  });

  it('restarts only the jobs for an IMEX domain, and leaves the node in service', async () => {
    cluster.settings = settings({ mode: 'act', quarantine: { quiet: '50ms' } });
    const handle = await send(
      fault({ code: 'xid/154', action: 'restart-app', message: 'to 0x5 (Recover IMEX Domain)' }),
    );
    await eventually(
      () => cluster.notifiedStates,
      (states) => states.includes('in-service'),
    );
    expect(await handle.result()).toMatchObject({ outcome: 'quiet' });
    expect(cluster.nodes.get(node)?.taint).toBeUndefined();
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

  it('keeps what was judged on the Node object when it is released while it is held', async () => {
    cluster.mayReserve = '2 nodes are out and 2 may be';
    const handle = await send(fault());
    await eventually(
      () => status(handle),
      (seen) => seen.phase === 'held',
    );
    await handle.executeUpdate('release', { args: [{ by: 'ada', reason: 'no fault of the node' }] });
    expect(await handle.result()).toMatchObject({ outcome: 'released' });
    expect(cluster.nodes.get(node)).toMatchObject({ history: [{ code: 'xid/79' }], judged: { bootId: 'boot-1' } });
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
