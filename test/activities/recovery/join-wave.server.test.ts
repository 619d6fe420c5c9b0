/** The worker has the permissions of an installation, so that a missing one fails here. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ClusterStatus } from '../../../contract/cluster.ts';
import { clusterWorkflowId } from '../../../contract/ids.ts';
import { ownNamespace } from '../../../kube/permissions.ts';
import { attachTestCluster } from '../../../testbed/attach.ts';
import { pytorchJob } from '../../../testbed/job-manifests.ts';
import { createJob, placeOf, podsOf, type RunningJob } from '../../../testbed/jobs.ts';
import { until } from '../../../testbed/until.ts';
import { type LiveCluster, liveCluster } from '../live-cluster.ts';

const run = randomUUID().slice(0, 8);
const priorityClasses = { group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses' };
const rule = { pods: 1, everyMs: 600_000 };

let cluster: LiveCluster;
const created: RunningJob[] = [];
const handle = () => cluster.client.workflow.getHandle(clusterWorkflowId);
const endCluster = () =>
  handle()
    .terminate('tidy up')
    .catch(() => undefined);

beforeAll(async () => {
  const { kubernetes } = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const kubeconfig = await kubernetes.kubeconfigFor({ namespace: ownNamespace, name: 'kcover-worker' });
  cluster = await liveCluster({ workflows: true, kubeconfig });
  await endCluster();
  const body = { metadata: { name: `urgent-${run}` }, value: 1000, preemptionPolicy: 'Never' };
  await cluster.api.custom.createClusterCustomObject({ ...priorityClasses, body });
});
afterAll(async () => {
  await endCluster();
  for (const job of created) await cluster.api.custom.deleteNamespacedCustomObject(placeOf(job)).catch(() => undefined);
  await cluster.api.custom.deleteClusterCustomObject({ ...priorityClasses, name: `urgent-${run}` });
  await cluster.close();
});

async function start(name: string, priorityClass?: string) {
  const manifest = pytorchJob({
    name: `${name}-${run}`,
    workers: 0,
    gpus: 0,
    ...(priorityClass !== undefined && { priorityClass }),
  });
  const job = await createJob(cluster.api, manifest);
  created.push(job);
  const pod = await until(`a pod of ${job.name}`, 30_000, async () => {
    const [first] = await podsOf(cluster.api, job);
    return first ? { found: first.metadata?.name ?? '' } : { missing: 'none' };
  });
  const incident = `recovery/${job.namespace}/${job.name}/${job.uid}/2026-11-21T07:09:03.117Z`;
  const { kind, namespace, name: jobName, uid } = job;
  return { incident, job: { kind, namespace, name: jobName, uid }, pod, pods: 1, rule };
}

describe('the place in a wave', () => {
  it('depends on the priority of the pods, and is the same for a pod that is gone as for one without a class', async () => {
    const [first, usual, urgent] = [await start('first'), await start('usual'), await start('urgent', `urgent-${run}`)];
    expect(await cluster.run('joinWave', first)).toEqual({ granted: true, wave: 1 });
    expect(await cluster.run('joinWave', { ...usual, pod: 'gone' })).toMatchObject({ granted: false });
    expect(await cluster.run('joinWave', urgent)).toMatchObject({
      granted: false,
      because: expect.stringContaining('0 recoveries with 0 pods come before this one'),
    });
    const { waitingForWave } = await handle().query<ClusterStatus>('status');
    expect(waitingForWave).toEqual([urgent.incident, usual.incident]);
  });
});
