/** A suspend by a controller manager with its default request rates, while ranks fail because their peers are deleted. */

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Job, V1Pod } from '@kubernetes/client-node';
import type { JobView } from '../../contract/job/jobs.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { readJob, suspendJob } from '../../kube/jobs/jobs.ts';
import { listMatchingPods } from '../../kube/pods/pods.ts';
import { failContainer } from '../../testbed/failures.ts';
import { batchJob, type BatchJobOptions } from '../../testbed/job-manifests.ts';
import { type AttachedTestCluster, attachTestCluster } from '../../testbed/attach.ts';
import { awaitRunning, createJob, type RunningJob } from '../../testbed/jobs.ts';
import { eventually } from '../support/rig.ts';

const ranks = 100;
/** A kubelet takes a moment to end a deleted pod; until then the pod counts. */
const terminationSeconds = 2;
const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;

let cluster: AttachedTestCluster;
let kube: Kube;

beforeAll(() => {
  cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  kube = connectKube({ kubeconfig: cluster.kubernetes.kubeconfig });
});
afterAll(() => kube?.close());

const refOf = ({ kind, namespace, name, uid }: RunningJob) => ({ kind, namespace, name, uid });
const podsNow = (job: RunningJob) => listMatchingPods(kube, refOf(job));
const jobNow = (job: RunningJob): Promise<V1Job> =>
  cluster.api.batch.readNamespacedJob({ name: job.name, namespace: job.namespace });
const viewOf = async (job: RunningJob): Promise<JobView> => {
  const view = await readJob(kube, refOf(job), taint);
  if (!view) throw new Error(`${job.name} is gone`);
  return view;
};

/** Suspends a running job with our annotation. When the first rank is deleted, each rank that is not yet being deleted exits with 1, as a trainer does that loses a peer. */
async function suspended(name: string, more: Partial<BatchJobOptions>): Promise<{ job: RunningJob; died: number }> {
  const job = await createJob(
    cluster.api,
    batchJob({ name, pods: ranks, gpus: 0, restartPolicy: 'OnFailure', terminationSeconds, ...more }),
  );
  const first = await awaitRunning(cluster.api, job, { withinMs: 240_000 });
  // The job's controller still updates the status, and each update changes the version.
  await eventually(async () => {
    const { resourceVersion } = await viewOf(job);
    await suspendJob(kube, {
      job: refOf(job),
      incident: 'recovery/default/llm/1/2026-11-21T07:09:03.117Z',
      attempt: 1,
      resourceVersion,
    });
    return true;
  }, Boolean);
  await eventually(
    () => podsNow(job),
    (pods) => pods.filter(isHere).length < ranks,
  );
  const left = (await podsNow(job)).filter(isHere);
  const uids = new Set(first.map(({ metadata }) => metadata?.uid));
  const ends = await Promise.allSettled(
    left
      .filter(({ metadata }) => uids.has(metadata?.uid))
      .map((pod) => failContainer(cluster.api, pod, { exitCode: 1, restart: more.restartPolicy !== 'Never' })),
  );
  return { job, died: ends.filter(({ status }) => status === 'fulfilled').length };
}

/** On a busy machine all pods may be deleted before the first of them is seen to be: then with another job. */
async function suspendedInTime(name: string, more: Partial<BatchJobOptions>) {
  for (let tries = 1; ; tries++) {
    const made = await suspended(`${name}-${tries}`, more);
    if (made.died > 6 || tries === 4) return made;
  }
}

const isHere = ({ metadata }: V1Pod): boolean => metadata?.deletionTimestamp === undefined;
const failureOf = ({ status }: V1Job) =>
  status?.conditions?.find(({ type, status: holds }) => type === 'Failed' && holds === 'True')?.reason;

describe('a batch Job of many ranks that die of each other while it is suspended', () => {
  it.each([
    ['OnFailure and the backoffLimit that the refusal names', { backoffLimit: 2 * ranks }],
    ['Never, whatever its backoffLimit', { restartPolicy: 'Never', backoffLimit: 0 }],
  ] as const)('only stops with %s', async (_sentence, more) => {
    const { job, died } = await suspendedInTime(`enough-${more.backoffLimit}`, more);
    expect(died).toBeGreaterThan(6);
    expect((await viewOf(job)).unsafeSuspend).toBeUndefined();
    await eventually(
      async () => (await podsNow(job)).filter((pod) => pod.status?.phase === 'Running'),
      (running) => running.length === 0,
    );
    // Waits until the job's controller has counted all of them.
    await eventually(
      () => jobNow(job),
      ({ status }) => (status?.active ?? 0) === 0 && (status?.uncountedTerminatedPods?.failed ?? []).length === 0,
    );
    await sleep(3000);
    expect(failureOf(await jobNow(job))).toBeUndefined();
  });
});
