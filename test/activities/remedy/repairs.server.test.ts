import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Node } from '@kubernetes/client-node';
import { directoryRecords } from '../../../activities/records.ts';
import type { ClusterStatus } from '../../../contract/cluster.ts';
import { annotations, clusterWorkflowId, quarantineId, quarantineTaintKey, remedyId } from '../../../contract/ids.ts';
import type { NodeRecord } from '../../../contract/node/nodes.ts';
import { askKube, patchObject } from '../../../kube/client/requests.ts';
import { kernelFault } from '../../support/builders.ts';
import { eventually } from '../../support/rig.ts';
import { liveCluster, type LiveCluster } from '../live-cluster.ts';

let cluster: LiveCluster;
let directory = '';
const made: string[] = [];
const handle = () => cluster.client.workflow.getHandle(clusterWorkflowId);
const endCluster = () =>
  handle()
    .terminate('tidy up')
    .catch(() => undefined);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kcover-records-'));
  cluster = await liveCluster({
    workflows: true,
    records: directoryRecords(directory),
    more: { remediation: { mode: 'run', most: 1 } },
  });
  await endCluster();
});
afterAll(async () => {
  await endCluster();
  for (const name of made)
    await askKube(cluster.kube, { method: 'DELETE', path: `/api/v1/nodes/${name}` }, 'tidy up').catch(() => undefined);
  await cluster.close();
  await rm(directory, { recursive: true, force: true });
});

interface Quarantined {
  readonly node: string;
  readonly uid: string;
  readonly incident: string;
}

/** A node with our taint and annotation. */
async function quarantined(): Promise<Quarantined> {
  const node = `repair-${randomUUID().slice(0, 8)}`;
  made.push(node);
  const incident = quarantineId(node, Date.now());
  const body = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: node, annotations: { [annotations.quarantineIncident]: incident } },
    spec: { taints: [{ key: quarantineTaintKey, value: 'xid-79', effect: 'NoSchedule' }] },
  };
  const { metadata } = await askKube<V1Node>(
    cluster.kube,
    { method: 'POST', path: '/api/v1/nodes', body: { contentType: 'application/json', text: JSON.stringify(body) } },
    'make a node',
  );
  return { node, uid: metadata?.uid ?? '', incident };
}

const permit = (one: Quarantined) => cluster.run('permitRepair', one);

describe('the permission to repair a node', () => {
  it('is given to as many nodes as the settings say, until a repair ends', async () => {
    const [first, second] = [await quarantined(), await quarantined()];
    expect(await permit(first)).toEqual({ kind: 'granted' });
    expect(await permit(first)).toEqual({ kind: 'granted' });
    expect(await permit(second)).toMatchObject({
      kind: 'refused',
      because: `1 nodes are under repair (${first.node}) and 1 may be (remediation.most)`,
    });
    await handle().signal('repairEnded', { remedy: remedyId(first.node, first.incident) });
    expect(await permit(second)).toEqual({ kind: 'granted' });
    await handle().signal('repairEnded', { remedy: remedyId(second.node, second.incident) });
  });

  it('is taken from a repair whose workflow was terminated', async () => {
    const [lost, next] = [await quarantined(), await quarantined()];
    // As it was left two minutes ago.
    await endCluster();
    const repair = { remedy: remedyId(lost.node, lost.incident), node: lost.node, since: Date.now() - 120_000 };
    const { firstState } = await import('../../../workflows/cluster/state.ts');
    const state = { ...firstState(0), phase: 'open', repairs: { [repair.remedy]: repair }, recountAt: undefined };
    await cluster.client.workflow.start('cluster', {
      workflowId: clusterWorkflowId,
      taskQueue: cluster.taskQueue,
      args: [{ clusterUid: 'u', state }],
    });
    expect(await permit(next)).toEqual({ kind: 'granted' });
    const { repairs } = await handle().query<ClusterStatus>('status');
    expect(repairs.map(({ node }) => node)).toEqual([next.node]);
  });

  it('is over when somebody removed the taint, or the node is gone', async () => {
    const released = await quarantined();
    await patchObject(cluster.kube, `/api/v1/nodes/${released.node}`, { spec: { taints: null } }, 'remove the taint');
    expect(await permit(released)).toEqual({
      kind: 'over',
      because: 'the node is no longer quarantined by kcover',
    });
    const gone = await quarantined();
    await askKube(cluster.kube, { method: 'DELETE', path: `/api/v1/nodes/${gone.node}` }, 'delete the node');
    expect(await permit(gone)).toMatchObject({ kind: 'over', because: 'the node object is gone' });
  });
});

describe('earlier incidents of a machine', () => {
  const gpu = 'GPU-5d1c3a3e-0000-0000-0000-000000000001';
  const record = (more: Partial<NodeRecord>): NodeRecord => ({
    schema: 1,
    incident: quarantineId('gpu-9', Date.now() - 3_600_000),
    node: 'gpu-9',
    uid: 'u',
    systemUuid: 'other',
    because: 'xid/79',
    by: 'kcover',
    quarantinedAt: '',
    taint: 'ours',
    faults: [kernelFault({ device: gpu })],
    ...more,
  });

  it('are found by the machine and by its GPUs, under whatever name, in records and in Temporal', async () => {
    const machine = `machine-${randomUUID()}`;
    const hour = (count: number, node: string) => quarantineId(node, Date.now() - count * 3_600_000);
    const store = directoryRecords(directory);
    const put = (one: NodeRecord) => store.put(one.incident, one);
    const ofGpu = record({ incident: hour(5, 'gpu-9') });
    const ofMachine = record({ incident: hour(4, 'gpu-8'), systemUuid: machine, faults: [kernelFault()] });
    await put(ofGpu);
    await put(ofMachine);
    await put(record({ incident: hour(900, 'gpu-9'), systemUuid: machine }));
    await put(record({ incident: hour(3, 'gpu-9'), systemUuid: machine, by: 'ada' }));
    await put(record({ incident: hour(2, 'gpu-9'), systemUuid: machine, asks: true }));
    await put(record({ incident: hour(1, 'gpu-9'), faults: [kernelFault()] }));
    const inTemporal = hour(3, 'gpu-7');
    const remedy = await cluster.client.workflow.start('remedy', {
      workflowId: remedyId('gpu-7', inTemporal),
      taskQueue: `nobody-${randomUUID()}`,
      memo: { incident: inTemporal, systemUuid: machine, gpus: [] },
      args: [],
    });
    const incident = quarantineId('gpu-6', Date.now());
    const recall = () =>
      cluster.run('recallIncidents', {
        node: 'gpu-6',
        systemUuid: machine,
        incident,
        gpus: [gpu],
        memoryMs: 28 * 86_400_000,
      });
    // Visibility is eventually consistent.
    const { incidents } = await eventually(recall, (seen) => seen.incidents.length >= 4);
    expect(incidents).toEqual([ofGpu.incident, ofMachine.incident, inTemporal, incident]);
    await remedy.terminate('tidy up');
  });

  it('are none of another machine, and none where the kubelet reports no machine', async () => {
    const incident = quarantineId('gpu-6', Date.now());
    const request = { node: 'gpu-6', systemUuid: '', incident, gpus: [], memoryMs: 28 * 86_400_000 };
    await directoryRecords(directory).put('node/x/2026-11-01T00:00:00.000Z', record({ systemUuid: '' }));
    expect(await cluster.run('recallIncidents', request)).toEqual({ incidents: [incident] });
  });
});
