import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { withLife } from '../../activities/heartbeats.ts';
import type {
  ClusterStatus,
  PermitAnswer,
  PermitRequest,
  ReserveAnswer,
  ReserveRequest,
  WaveAnswer,
  WaveRequest,
} from '../../contract/cluster.ts';
import { reserveLimit, stormRule } from '../support/builders.ts';
import { activitiesOf, FakeCluster } from '../support/fake-cluster.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

let rig: Rig;
let cluster: FakeCluster;
let handle: WorkflowHandle;
const notified: string[][] = [];

const status = () => handle.query<ClusterStatus>('status');
const start = (workflowId = `cluster-${randomUUID()}`) =>
  rig.client.workflow.start('cluster', {
    workflowId,
    taskQueue: rig.taskQueue,
    args: [{ clusterUid: 'kube-system-uid' }],
  });
const counted = () => eventually(status, (seen) => seen.phase !== 'counting');
const ask = (request: ReserveRequest) =>
  handle.executeUpdate<ReserveAnswer[], [ReserveRequest]>('reserve', { args: [request] });
const reserve = (...nodes: string[]) =>
  ask({
    limit: reserveLimit(2),
    storm: stormRule,
    wanted: nodes.map((node) => ({ node, nodeUid: node, incident: `node/${node}` })),
  });

describe('the workflow of a cluster', () => {
  beforeAll(async () => {
    rig = await startRig(
      withLife({
        ...activitiesOf(() => cluster),
        notifyWaiting: async ({ workflowIds }) => {
          notified.push([...workflowIds]);
        },
      }),
    );
  });
  beforeEach(async () => {
    cluster = new FakeCluster();
    handle = await start();
  });
  afterAll(async () => {
    await rig.close();
  });

  it('grants reservations up to the limit, and says why not beyond it', async () => {
    await counted();
    const answers = await reserve('a', 'b', 'c');
    expect(answers.map((answer) => answer.granted)).toEqual([true, true, false]);
    expect(answers[2]).toMatchObject({ because: '2 nodes are out and 2 may be (the larger of 2 and 10 % of 8)' });
    rig.replayAtEnd(handle.workflowId);
  });

  it('returns the same reservation when it is requested again', async () => {
    await counted();
    await reserve('a', 'b');
    expect(await reserve('a')).toEqual([{ granted: true, nodeUid: 'a', incident: 'node/a' }]);
    expect((await status()).reservations).toHaveLength(2);
  });

  it('keeps running with more nodes out than one search attribute can name', async () => {
    await counted();
    const nodes = Array.from(
      { length: 120 },
      (_, n) => `ip-10-123-${100 + (n >> 4)}-${100 + n}.us-west-2.compute.internal`,
    );
    for (const node of nodes) {
      const wanted = [{ node, nodeUid: node, incident: `node/${node}`, byOperator: true }];
      expect(await ask({ limit: reserveLimit(2), storm: stormRule, wanted })).toMatchObject([{ granted: true }]);
    }
    expect((await status()).reservations).toHaveLength(nodes.length);
    expect((await handle.describe()).status.name).toBe('RUNNING');
  });

  it('permits repairs up to their own limit, none during a pause, and notifies those that wait when one ends', async () => {
    await counted();
    const permit = (node: string) =>
      handle.executeUpdate<PermitAnswer, [PermitRequest]>('permitRepair', {
        args: [{ remedy: `remedy/${node}/x`, node, most: 1 }],
      });
    expect(await permit('a')).toEqual({ granted: true });
    expect(await permit('a')).toEqual({ granted: true });
    expect(await permit('b')).toEqual({
      granted: false,
      because: '1 nodes are under repair (a) and 1 may be (remediation.most)',
    });
    const waiting = `remedy/b/${randomUUID()}`;
    await handle.signal('waiting', { workflowId: waiting });
    await handle.signal('repairEnded', { remedy: 'remedy/a/x' });
    await eventually(
      () => notified.flat(),
      (ids) => ids.includes(waiting),
    );
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'network work' }] });
    expect(await permit('b')).toEqual({ granted: false, because: 'paused by ada: network work' });
    await handle.executeUpdate('resume', { args: [{ by: 'ada', reason: 'done' }] });
    expect(await permit('b')).toEqual({ granted: true });
    expect((await status()).repairs).toMatchObject([{ remedy: 'remedy/b/x', node: 'b' }]);
    rig.replayAtEnd(handle.workflowId);
  });

  it('lets recoveries with one cause begin in waves, and shows who waits', async () => {
    const ask = (recovery: string, pods: number, priority = 0) =>
      handle.executeUpdate<WaveAnswer, [WaveRequest]>('joinWave', {
        args: [{ recovery, pods, priority, rule: { pods: 10, everyMs: 1500 } }],
      });
    expect(await ask('a', 6)).toEqual({ granted: true, wave: 1 });
    expect(await ask('a', 6)).toEqual({ granted: true, wave: 1 });
    const refused = await ask('b', 6);
    expect(refused).toMatchObject({ granted: false, because: expect.stringContaining('wave 1') });
    await ask('important', 6, 1000);
    expect(await status()).toMatchObject({
      waves: [{ number: 1, pods: 6, recoveries: 1 }],
      waitingForWave: ['important', 'b'],
    });
    await sleep(refused.granted ? 0 : refused.lookAgainMs);
    expect(await ask('b', 6)).toMatchObject({ granted: false });
    expect(await ask('important', 6, 1000)).toEqual({ granted: true, wave: 2 });
    await expect(
      handle.executeUpdate('joinWave', { args: [{ recovery: 'c', pods: 'many', priority: 0, rule: {} }] }),
    ).rejects.toMatchObject({ cause: { message: expect.stringContaining('are needed') } });
    rig.replayAtEnd(handle.workflowId);
  });

  it('notifies waiting workflows when a reservation is released', async () => {
    await counted();
    await reserve('a', 'b');
    await handle.signal('waiting', { workflowId: 'node/c' });
    await handle.signal('returned', { nodeUids: ['a'] });
    await eventually(
      () => notified,
      (all) => all.some((ids) => ids.includes('node/c')),
    );
    expect((await reserve('c'))[0]?.granted).toBe(true);
    rig.replayAtEnd(handle.workflowId);
  });

  it('notifies many waiting workflows in batches, each of them once', async () => {
    await counted();
    await reserve('a', 'b');
    const ids = Array.from({ length: 130 }, (_, n) => `node/${handle.workflowId}/${n}`);
    const from = notified.length;
    for (const workflowId of ids) await handle.signal('waiting', { workflowId });
    await handle.signal('returned', { nodeUids: ['a'] });
    await eventually(
      () => notified.slice(from).flat().length,
      (length) => length >= ids.length,
    );
    expect(notified.slice(from).flat().toSorted()).toEqual(ids.toSorted());
    expect(Math.max(...notified.slice(from).map((some) => some.length))).toBeLessThanOrEqual(50);
  });

  it('grants only a person’s request while paused, and notifies waiting workflows on resume', async () => {
    await counted();
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'network work' }] });
    expect((await reserve('a'))[0]).toMatchObject({ granted: false, because: 'paused by ada: network work' });
    const wanted = [{ node: 'b', nodeUid: 'b', incident: 'node/b', byOperator: true }];
    expect(await ask({ limit: reserveLimit(2), storm: stormRule, wanted })).toMatchObject([{ granted: true }]);
    await handle.signal('waiting', { workflowId: `recovery/${handle.workflowId}` });
    await handle.executeUpdate('resume', { args: [{ by: 'ada', reason: 'done' }] });
    await eventually(
      () => notified,
      (all) => all.some((ids) => ids.includes(`recovery/${handle.workflowId}`)),
    );
    rig.replayAtEnd(handle.workflowId);
  });

  it('refuses a write that was granted before a pause and is requested again', async () => {
    await counted();
    await reserve('a');
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'network work' }] });
    expect((await reserve('a'))[0]).toMatchObject({ granted: false, because: 'paused by ada: network work' });
  });

  it('keeps reservations for faults other than those of preflights, and lets no namespace use up those of preflights', async () => {
    await counted();
    const limit = reserveLimit(10, { nodes: 3, perNamespace: 2 });
    const by = (namespace: string, ...nodes: string[]) =>
      ask({
        limit,
        storm: stormRule,
        wanted: nodes.map((node) => ({ node, nodeUid: node, incident: `node/${node}`, preflight: { namespace } })),
      });
    expect(await by('a', 'a1', 'a2', 'a3')).toMatchObject([
      { granted: true },
      { granted: true },
      { granted: false, because: '2 nodes are out because of preflights in a alone and 2 may be (preflight.limit)' },
    ]);
    expect(await by('b', 'b1', 'b2')).toMatchObject([
      { granted: true },
      { granted: false, because: '3 nodes are out because of preflights alone and 3 may be (preflight.limit)' },
    ]);
    const kernel = Array.from({ length: 8 }, (_, n) => ({ node: `k${n}`, nodeUid: `k${n}`, incident: `node/k${n}` }));
    expect((await ask({ limit, storm: stormRule, wanted: kernel })).filter(({ granted }) => granted)).toHaveLength(7);
  });

  it('keeps to the limit of each domain too, and names the one that holds', async () => {
    await counted();
    const limit = { ...reserveLimit(9), domains: { 'rack=r7': { nodes: 1, because: '25% of 4' } } };
    const wanted = [
      ['a', 'rack=r7'],
      ['b', 'rack=r7'],
      ['c', 'rack=r8'],
    ].map(([node = '', domain = '']) => ({ node, nodeUid: node, incident: `node/${node}`, domains: [domain] }));
    expect(await ask({ limit, storm: stormRule, wanted })).toMatchObject([
      { granted: true },
      { granted: false, because: '1 nodes of rack=r7 are out and 1 may be (25% of 4)' },
      { granted: true },
    ]);
  });

  it('takes three nodes with one cause as one incident, of which people are notified once', async () => {
    await counted();
    const at = new Date().toISOString();
    const wanted = ['a', 'b', 'c', 'd'].map((node) => ({
      node,
      nodeUid: node,
      incident: `node/${node}/${at}`,
      cause: 'xid-79',
    }));
    await ask({ limit: reserveLimit(2), storm: stormRule, wanted: wanted.slice(0, 3) });
    await ask({ limit: reserveLimit(2), storm: stormRule, wanted: wanted.slice(2) });
    expect((await status()).storms).toMatchObject([
      { cause: 'xid-79', place: 'the cluster', nodes: ['a', 'b', 'c', 'd'] },
    ]);
    const permit = await handle.executeUpdate('permitRepair', { args: [{ remedy: 'remedy/a', node: 'a', most: 9 }] });
    expect(permit).toMatchObject({
      granted: false,
      because: expect.stringContaining('are one incident (storm/xid-79/'),
    });
    await eventually(
      () => cluster.announced.filter(({ reason }) => reason === 'NodeStorm'),
      (events) => events.length === 1 && events[0]?.message.includes('3 nodes of the cluster with xid-79') === true,
    );
    rig.replayAtEnd(handle.workflowId);
  });

  it('does not take a pause without a name and a reason', async () => {
    await expect(handle.executeUpdate('pause', { args: [{ by: 'ada' }] })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('`reason`') },
    });
  });

  it('is still paused, and counts the nodes that are out, when it was terminated and is started again', async () => {
    await counted();
    const since = Date.now() - 3_600_000;
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'mass outage' }] });
    await eventually(
      () => cluster.storedPause,
      (kept) => kept?.state === 'paused',
    );
    await handle.terminate();
    cluster.storedReservations = ['a', 'b'].map((node) => ({ node, nodeUid: node, incident: `node/${node}/x`, since }));
    handle = await start(handle.workflowId);
    await counted();
    expect(await status()).toMatchObject({
      paused: { by: 'ada', reason: 'mass outage' },
      reservations: cluster.storedReservations,
    });
    await handle.executeUpdate('resume', { args: [{ by: 'ada', reason: 'over' }] });
    expect((await reserve('c'))[0]).toMatchObject({
      granted: false,
      because: expect.stringContaining('2 nodes are out and 2 may be'),
    });
    await eventually(
      () => cluster.storedPause,
      (kept) => kept?.state === 'open',
    );
  });

  it('grants nothing before it has counted, but accepts a pause', async () => {
    let count: () => void = () => undefined;
    cluster = new FakeCluster();
    cluster.clusterReadGate = new Promise((resolve) => (count = resolve));
    handle = await start();
    await expect(reserve('a')).rejects.toMatchObject({ cause: { message: expect.stringContaining('still counting') } });
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'mass outage' }] });
    cluster.storedPause = { state: 'open', by: 'bob', reason: 'long ago', at: 1 };
    count();
    await counted();
    expect(await status()).toMatchObject({ paused: { by: 'ada', reason: 'mass outage' } });
  });

  it('does not restart its count where a large cluster takes long to list', async () => {
    let count: () => void = () => undefined;
    cluster = new FakeCluster();
    cluster.clusterReadGate = new Promise((resolve) => (count = resolve));
    handle = await start();
    await sleep(20_000);
    expect((await handle.describe()).raw.pendingActivities).toMatchObject([
      { activityType: { name: 'observeCluster' }, attempt: 1 },
    ]);
    count();
    await counted();
  });

  it('pauses even when the pause cannot be stored outside of it, and says so', async () => {
    await counted();
    cluster.pauseUnwritable = 'an admission webhook denied the request';
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'mass outage' }] });
    expect((await reserve('a'))[0]).toMatchObject({ granted: false, because: 'paused by ada: mass outage' });
    await eventually(status, ({ unstored }) => unstored?.includes('an admission webhook denied') === true);
    cluster.pauseUnwritable = undefined;
    await handle.executeUpdate('resume', { args: [{ by: 'ada', reason: 'over' }] });
    await eventually(status, ({ unstored }) => unstored === undefined);
    expect(cluster.storedPause).toMatchObject({ state: 'open', by: 'ada' });
    rig.replayAtEnd(handle.workflowId);
  });
});
