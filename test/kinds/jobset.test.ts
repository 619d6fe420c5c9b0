/** Checks the facts about JobSet in docs/job-kinds-in-detail.md against its controller. */

import { describe, expect, it } from '@jest/globals';
import type { V1Job } from '@kubernetes/client-node';
import type { JobRef } from '../../contract/job/jobs.ts';
import { resumeJob } from '../../kube/jobs/jobs.ts';
import { deleteMatchingPods } from '../../kube/pods/pods.ts';
import { failContainer, succeed } from '../../testbed/failures.ts';
import { awaitRunning, changeJob, podsOf, readJob } from '../../testbed/jobs.ts';
import { jobSet, type JobSetOptions } from '../../testbed/set-manifests.ts';
import { eventually } from '../support/rig.ts';
import { incident, podOf, uidsOf, useKindsRig } from '../support/kinds-rig.ts';

const rig = useKindsRig();
const started = (more: Partial<JobSetOptions> = {}) => rig.started((options) => jobSet({ ...options, ...more }));

async function jobsOf({ name, namespace }: JobRef): Promise<V1Job[]> {
  const { items } = await rig.api.batch.listNamespacedJob({
    namespace,
    labelSelector: `jobset.sigs.k8s.io/jobset-name=${name}`,
  });
  return items;
}
const jobUids = async (ref: JobRef): Promise<string[]> =>
  (await jobsOf(ref)).map(({ metadata }) => metadata?.uid ?? '').toSorted();

async function restartsOf(job: Parameters<typeof readJob>[1]): Promise<number> {
  const { status } = (await readJob(rig.api, job)) as { readonly status?: { readonly restarts?: number } };
  return status?.restarts ?? 0;
}

it('writes its UID on its pods', async () => {
  const { ref, first } = await started();
  expect(first.map(({ metadata }) => metadata?.labels?.['jobset.sigs.k8s.io/jobset-uid'])).toEqual(
    first.map(() => ref.uid),
  );
});

it.each(['OnFailure', 'Never'] as const)(
  'counts no failure and no restart when it is suspended and resumed, with %s',
  async (restartPolicy) => {
    const { job, ref, first } = await started({ restartPolicy, backoffLimit: restartPolicy === 'Never' ? 2 : 4 });
    const jobs = await jobUids(ref);
    await rig.suspend(ref);
    await rig.gone(ref);
    expect(await resumeJob(rig.kube, ref, incident)).toBe(true);
    await awaitRunning(rig.api, job, { withinMs: 120_000, except: new Set(uidsOf(first)) });
    expect(await jobUids(ref)).toEqual(jobs);
    expect((await jobsOf(ref)).map(({ status }) => status?.failed ?? 0)).toEqual([0, 0]);
    expect(await restartsOf(job)).toBe(0);
  },
);

describe('a batch Job of a JobSet', () => {
  it('is resumed by its JobSet when another client suspends it: only the JobSet can be stopped', async () => {
    const { job, ref, first } = await started();
    const name = (await jobsOf(ref)).find(({ metadata }) => metadata?.name?.includes('workers'))?.metadata?.name ?? '';
    const patched = await rig.api.batch.readNamespacedJob({ name, namespace: ref.namespace });
    await rig.api.batch.replaceNamespacedJob({
      name,
      namespace: ref.namespace,
      body: { ...patched, spec: { ...patched.spec, suspend: true } } as V1Job,
    });
    const leader = podOf(first, ref, 'leader');
    const workers = uidsOf(first).filter((uid) => uid !== leader.metadata?.uid);
    const now = await awaitRunning(rig.api, job, { except: new Set(workers) });
    expect(uidsOf(now)).toContain(leader.metadata?.uid);
  });

  it('fails the set for good when it fails, without a failure policy', async () => {
    const { ref, first } = await started({ restartPolicy: 'Never', backoffLimit: 0 });
    await failContainer(rig.api, podOf(first, ref, 'workers'), { exitCode: 1 });
    await rig.ended(ref, 'failed');
  });

  it('uses one of maxRestarts of the set when it fails, all its Jobs are recreated, and the next failure fails the set', async () => {
    const spec = { failurePolicy: { maxRestarts: 1 } };
    const { job, ref, first } = await started({ restartPolicy: 'Never', backoffLimit: 0, spec });
    const jobs = await jobUids(ref);
    await failContainer(rig.api, podOf(first, ref, 'workers'), { exitCode: 1 });
    const next = await awaitRunning(rig.api, job, { withinMs: 120_000, except: new Set(uidsOf(first)) });
    expect((await jobUids(ref)).filter((uid) => jobs.includes(uid))).toEqual([]);
    expect(await restartsOf(job)).toBe(1);
    await failContainer(rig.api, podOf(next, ref, 'leader'), { exitCode: 1 });
    await rig.ended(ref, 'failed');
  });

  it('counts its deleted pods as failures, which fails the set', async () => {
    const { ref } = await started({ backoffLimit: 0 });
    await deleteMatchingPods(rig.kube, ref);
    await rig.ended(ref, 'failed');
  });

  it('is not run again when it has succeeded: only the others are suspended and resumed, until they succeed too', async () => {
    const { job, ref, first } = await started();
    await succeed(rig.api, podOf(first, ref, 'leader'));
    await eventually(
      async () => (await rig.seen(ref)).podsExpected,
      (pods) => pods === 2,
    );
    await rig.suspend(ref);
    const isWorker = (pod: (typeof first)[number]) =>
      pod.metadata?.labels?.['jobset.sigs.k8s.io/replicatedjob-name'] === 'workers';
    const workersNow = async () => (await podsOf(rig.api, job)).filter(isWorker);
    await eventually(workersNow, (pods) => pods.length === 0);
    expect(await resumeJob(rig.kube, ref, incident)).toBe(true);
    const workers = await eventually(
      workersNow,
      (pods) => pods.length === 2 && pods.every(({ status }) => status?.phase === 'Running'),
    );
    for (const pod of workers) await succeed(rig.api, pod);
    await rig.ended(ref, 'succeeded');
  });
});

it('refuses another size and another priority, even while it is suspended', async () => {
  const { job, ref } = await started();
  await rig.suspend(ref);
  const { replicatedJobs } = (await readJob(rig.api, job)).spec as {
    readonly replicatedJobs: readonly { readonly template: V1Job }[];
  };
  const withJob = (change: object) => ({
    spec: {
      replicatedJobs: replicatedJobs.map((each) => ({
        ...each,
        template: { ...each.template, spec: { ...each.template.spec, ...change } },
      })),
    },
  });
  await expect(changeJob(rig.api, job, withJob({ parallelism: 1, completions: 1 }))).rejects.toThrow('immutable');
  const template = replicatedJobs[0]?.template.spec?.template;
  const urgent = { template: { ...template, spec: { ...template?.spec, priorityClassName: 'system-node-critical' } } };
  await expect(changeJob(rig.api, job, withJob(urgent))).rejects.toThrow('immutable');
});
