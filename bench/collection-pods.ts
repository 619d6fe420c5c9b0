/** The pods of a workload whose preflight containers have just ended, and their report files. */

import { labels } from '../contract/ids.ts';
import { preflightContainer } from '../contract/preflight/preflight.ts';
import { inParallel } from '../kube/client/parallel.ts';
import { strategicMerge } from '../testbed/api.ts';
import { batchJob } from '../testbed/job-manifests.ts';
import { createJob, type RunningJob } from '../testbed/jobs.ts';
import { measure } from '../testbed/preflight-measures.ts';
import { writeReport } from '../testbed/preflight.ts';
import type { TestCluster } from '../testbed/test-cluster.ts';
import { atOnce, type FleetNode } from './collection-fleet.ts';

/**
 * An Indexed job without a controller (`managedBy`), with a pod bound to each node: the real job controller and the scheduler would dominate the
 * time, and no simulated kubelet handles thousands of pods here. All objects are real.
 */
export async function testedWorkload(
  { api }: TestCluster,
  name: string,
  nodes: readonly FleetNode[],
  slow: readonly string[],
): Promise<RunningJob> {
  const manifest = batchJob({ name, namespace: 'default', pods: nodes.length });
  const job = await createJob(api, {
    ...manifest,
    spec: { ...manifest.spec, managedBy: 'bench.kcover.io/nobody', template: manifest.spec?.template ?? {} },
  });
  const startedAt = new Date();
  await inParallel([...nodes.entries()], ([rank, node]) => createPod(api, job, rank, node), atOnce);
  const reports = measure(
    job.name,
    nodes.map(({ name: node, address }) => ({ node, address })),
    { slow },
  );
  await inParallel(
    [...nodes.entries()],
    async ([rank, node]) => writeReport(job, { hostRoot: node.hostRoot, rank }, reports[rank] ?? ''),
    atOnce,
  );
  await inParallel([...nodes.keys()], (rank) => endTest(api, job, rank, startedAt), atOnce);
  return job;
}

const podOf = ({ name }: RunningJob, rank: number): string => `${name}-${rank}`;

async function createPod(api: TestCluster['api'], job: RunningJob, rank: number, node: FleetNode): Promise<void> {
  const body = {
    metadata: {
      name: podOf(job, rank),
      labels: {
        [labels.preflight]: 'true',
        'batch.kubernetes.io/job-name': job.name,
        'batch.kubernetes.io/controller-uid': job.uid,
      },
      annotations: { 'batch.kubernetes.io/job-completion-index': String(rank) },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: job.name, uid: job.uid, controller: true }],
    },
    spec: {
      nodeName: node.name,
      serviceAccountName: 'default',
      restartPolicy: 'Never',
      tolerations: [{ operator: 'Exists' }],
      initContainers: [{ name: preflightContainer, image: 'kcover:testbed' }],
      containers: [{ name: 'trainer', image: 'kcover:testbed', resources: { limits: { 'nvidia.com/gpu': '8' } } }],
    },
  };
  await api.core.createNamespacedPod({ namespace: job.namespace, body });
}

async function endTest(api: TestCluster['api'], job: RunningJob, rank: number, startedAt: Date): Promise<void> {
  const terminated = { exitCode: 0, reason: 'Completed', startedAt, finishedAt: new Date() };
  const container = {
    name: preflightContainer,
    image: 'kcover:testbed',
    imageID: '',
    ready: true,
    restartCount: 0,
    state: { terminated },
  };
  const body = { status: { initContainerStatuses: [container] } };
  await api.core.patchNamespacedPodStatus({ namespace: job.namespace, name: podOf(job, rank), body }, strategicMerge);
}
