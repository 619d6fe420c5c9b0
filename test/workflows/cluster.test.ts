import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { ClusterStatus, ReserveAnswer, ReserveRequest } from '../../contract/cluster.ts';
import { FakeCluster } from '../support/fake-cluster.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

let rig: Rig;
let handle: WorkflowHandle;
const told: string[][] = [];

const limit = { nodes: 2, because: 'the larger of 2 and 10 % of 8' };
const reserve = (...nodes: string[]) =>
  handle.executeUpdate<ReserveAnswer[], [ReserveRequest]>('reserve', {
    args: [{ limit, wanted: nodes.map((node) => ({ node, nodeUid: node, incident: `node/${node}` })) }],
  });

describe('the workflow of a cluster', () => {
  beforeAll(async () => {
    rig = await startRig({
      ...new FakeCluster().activities(),
      tellWaiting: async ({ workflowIds }) => {
        told.push([...workflowIds]);
      },
    });
  });
  beforeEach(async () => {
    handle = await rig.client.workflow.start('cluster', {
      workflowId: `cluster-${randomUUID()}`,
      taskQueue: rig.taskQueue,
      args: [{ clusterUid: 'kube-system-uid' }],
    });
  });
  afterAll(async () => {
    await rig.close();
  });

  it('grants reservations up to the limit, and says why not beyond it', async () => {
    const answers = await reserve('a', 'b', 'c');
    expect(answers.map((answer) => answer.granted)).toEqual([true, true, false]);
    expect(answers[2]).toMatchObject({ because: '2 nodes are out and 2 may be (the larger of 2 and 10 % of 8)' });
    await rig.replay(handle.workflowId);
  });

  it('returns the same reservation to who asks again', async () => {
    await reserve('a', 'b');
    expect(await reserve('a')).toEqual([{ granted: true, nodeUid: 'a', incident: 'node/a' }]);
    expect((await handle.query<ClusterStatus>('status')).reservations).toHaveLength(2);
  });

  it('tells who waits when a reservation comes back', async () => {
    await reserve('a', 'b');
    await handle.signal('waiting', { workflowId: 'node/c' });
    await handle.signal('returned', { nodeUids: ['a'] });
    await eventually(
      () => told,
      (all) => all.some((ids) => ids.includes('node/c')),
    );
    expect((await reserve('c'))[0]?.granted).toBe(true);
    await rig.replay(handle.workflowId);
  });

  it('grants nothing but a person’s wish while paused, and tells who waited on resume', async () => {
    await handle.executeUpdate('pause', { args: [{ by: 'ada', reason: 'network work' }] });
    expect((await reserve('a'))[0]).toMatchObject({ granted: false, because: 'paused by ada: network work' });
    const wanted = [{ node: 'b', nodeUid: 'b', incident: 'node/b', byOperator: true }];
    expect(await handle.executeUpdate<ReserveAnswer[], [ReserveRequest]>('reserve', { args: [{ limit, wanted }] })).toMatchObject([{ granted: true }]);
    await handle.signal('waiting', { workflowId: `recovery/${handle.workflowId}` });
    await handle.executeUpdate('resume', { args: [{ by: 'ada', reason: 'done' }] });
    await eventually(
      () => told,
      (all) => all.some((ids) => ids.includes(`recovery/${handle.workflowId}`)),
    );
    await rig.replay(handle.workflowId);
  });

  it('does not take a pause without a name and a reason', async () => {
    await expect(handle.executeUpdate('pause', { args: [{ by: 'ada' }] })).rejects.toMatchObject({ cause: { message: expect.stringContaining('`reason`') } });
  });
});
