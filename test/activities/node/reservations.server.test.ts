import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1ConfigMap, V1Node } from '@kubernetes/client-node';
import type { ClusterStatus, StoredPause } from '../../../contract/cluster.ts';
import { clusterWorkflowId, nodeWorkflowId } from '../../../contract/ids.ts';
import { clusterUid } from '../../../kube/client/connection.ts';
import { ownNamespace, pauseConfigMap } from '../../../kube/permissions.ts';
import { readNode } from '../../../kube/nodes/nodes.ts';
import { askKube, patchObject, readObject } from '../../../kube/client/requests.ts';
import { eventually } from '../../support/rig.ts';
import { type ClusterState, firstState } from '../../../workflows/cluster/state.ts';
import { liveCluster, type LiveCluster } from '../live-cluster.ts';

const path = `/api/v1/namespaces/${ownNamespace}/configmaps/${pauseConfigMap}`;
let cluster: LiveCluster;
let node: V1Node;
beforeAll(async () => {
  cluster = await liveCluster({ workflows: true });
  await endCluster();
  node = await askKube<V1Node>(
    cluster.kube,
    {
      method: 'POST',
      path: '/api/v1/nodes',
      body: {
        contentType: 'application/json',
        text: JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: `out-${randomUUID().slice(0, 8)}` } }),
      },
    },
    'make a node',
  );
});
afterAll(async () => {
  await endCluster();
  await askKube(cluster.kube, { method: 'DELETE', path: `/api/v1/nodes/${name()}` }, 'tidy up').catch(() => undefined);
  await askKube(cluster.kube, { method: 'DELETE', path }, 'tidy up').catch(() => undefined);
  await cluster.close();
});

const name = () => node.metadata?.name ?? '';
const uid = () => node.metadata?.uid ?? '';
const handle = () => cluster.client.workflow.getHandle(clusterWorkflowId);
const endCluster = () =>
  handle()
    .terminate('tidy up')
    .catch(() => undefined);
const status = () => handle().query<ClusterStatus>('status');
const reserve = (wanted: string, more: { byOperator?: boolean } = {}) =>
  cluster.run('reserveQuarantine', { node: wanted, nodeUid: `uid-${wanted}`, incident: `node/${wanted}/x`, ...more });
const word = (more: Partial<StoredPause>): StoredPause => ({
  state: 'paused',
  by: 'ada',
  reason: 'mass outage',
  at: Date.now(),
  ...more,
});
const kept = async () => (await readObject<V1ConfigMap>(cluster.kube, path, 'read the pause'))?.data;

describe('what a cluster must not lose', () => {
  it('is stored for a pause in a ConfigMap, and a late write changes nothing', async () => {
    const at = Date.now();
    await cluster.run('storePause', word({ at }));
    await cluster.run('storePause', word({ at: at - 1000, state: 'open', by: 'bob' }));
    expect(await kept()).toEqual({ state: 'paused', by: 'ada', reason: 'mass outage', at: new Date(at).toISOString() });
    expect(await cluster.run('observeCluster', { clusterUid: 'u' })).toMatchObject({
      pause: { state: 'paused', by: 'ada', at },
    });
    await cluster.run('storePause', word({ at: at + 1, state: 'open', by: 'bob', reason: 'over' }));
    expect(await kept()).toMatchObject({ state: 'open', by: 'bob' });
  });

  it('counts nodes with our taint and annotation, with the namespace whose preflight blamed them', async () => {
    const write = {
      node: name(),
      uid: uid(),
      incident: `node/${name()}/2026-11-22T05:00:00.000Z`,
      reason: 'preflight-slow-node',
      because: 'slow',
    };
    await cluster.run('quarantineNode', { ...write, preflight: { namespace: 'team-a' } });
    const { out } = await cluster.run('observeCluster', { clusterUid: 'u' });
    expect(out.filter((one) => one.nodeUid === uid())).toEqual([
      {
        node: name(),
        nodeUid: uid(),
        incident: write.incident,
        since: Date.parse('2026-11-22T05:00:00.000Z'),
        preflight: { namespace: 'team-a' },
      },
    ]);
  });

  it('is restored by a reservation that finds no workflow: still paused, and the nodes that are out counted', async () => {
    await cluster.run('storePause', word({ at: Date.now() }));
    expect(await reserve('other')).toMatchObject({ granted: false, because: 'paused by ada: mass outage' });
    expect((await status()).reservations.map((one) => one.nodeUid)).toContain(uid());
    await handle().terminate('lost');
    const attempt = await cluster.run('observeAttempt', {
      job: { kind: 'PyTorchJob', namespace: 'train', name: 'none', uid: 'none' },
      nodes: [],
    });
    expect(attempt.paused).toEqual({ by: 'ada', reason: 'mass outage' });
    expect(await reserve('other', { byOperator: true })).toMatchObject({ granted: true });
    await handle().executeUpdate('resume', { args: [{ by: 'ada', reason: 'over' }] });
    await eventually(kept, (data) => data?.['state'] === 'open');
  });

  it('releases no reservation of a node whose workflow runs, though nothing is written on it yet', async () => {
    const held = `held-${randomUUID().slice(0, 8)}`;
    const looking = await cluster.client.workflow.start('nodeQuarantine', {
      workflowId: nodeWorkflowId(held),
      taskQueue: 'nobody-listens',
      args: [{ node: held }],
    });
    const since = Date.now() - 120_000;
    await endCluster();
    const reservations = Object.fromEntries(
      ['gone', held].map((node) => [
        `uid-${node}`,
        { node, nodeUid: `uid-${node}`, incident: `node/${node}/x`, since },
      ]),
    );
    const state: ClusterState = {
      ...firstState(since),
      phase: 'open',
      pauseKnown: true,
      recountAt: undefined,
      reservations,
    };
    await cluster.client.workflow.start('cluster', {
      workflowId: clusterWorkflowId,
      taskQueue: cluster.taskQueue,
      args: [{ clusterUid: await clusterUid(cluster.kube), state }],
    });
    try {
      // Two may be out, so one is refused unless abandoned reservations are released.
      expect(await reserve('next')).toMatchObject({ granted: true });
      expect((await status()).reservations.map((one) => one.node).toSorted()).toEqual([held, 'next'].toSorted());
      expect(await reserve('last')).toMatchObject({ granted: false });
    } finally {
      await looking.terminate('tidy up');
    }
  });

  it('reports that a taint stays when it has lost its annotation', async () => {
    await patchObject(
      cluster.kube,
      `/api/v1/nodes/${name()}`,
      { metadata: { annotations: { 'kcover.io/quarantine-incident': null } } },
      'take the annotation off',
    );
    const answer = await cluster.run('releaseNode', {
      node: name(),
      uid: uid(),
      incident: `node/${name()}/2026-11-22T05:00:00.000Z`,
      by: 'ada',
      because: 'replaced',
    });
    expect(answer).toEqual({
      kind: 'not-ours',
      remainingTaint: expect.stringContaining('the taint kcover.io/quarantine=preflight-slow-node:NoSchedule stays'),
    });
    expect((await readNode(cluster.kube, name()))?.spec?.taints).toContainEqual(
      expect.objectContaining({ key: 'kcover.io/quarantine' }),
    );
  });
});
