import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@kubernetes/client-node';
import { jobKinds } from '../../kube/jobs/kinds/index.ts';
import { batchJob, type BatchJobOptions } from '../../testbed/job-manifests.ts';
import { jobSet, trainJob } from '../../testbed/set-manifests.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const batch = (more: Partial<BatchJobOptions>) =>
  jobKinds.Job.view(batchJob({ name: 'llm', pods: 60, restartPolicy: 'OnFailure', backoffLimit: 6, ...more }), taint);
const set = (replicas: number, pods: number, backoffLimit?: number, restartPolicy = 'OnFailure') => {
  const template = {
    spec: {
      parallelism: pods,
      ...(backoffLimit !== undefined && { backoffLimit }),
      template: { spec: { restartPolicy } },
    },
  };
  return jobKinds.JobSet.view(
    Object.assign(jobSet({ name: 'llm' }), { spec: { replicatedJobs: [{ name: 'node', replicas, template }] } }),
    taint,
  );
};

describe('a batch Job that its controller may fail while it is suspended', () => {
  it.each<[sentence: string, view: ReturnType<typeof batch>, limit: number | undefined]>([
    ['has OnFailure, many ranks, and a limit below the restarts of them', batch({}), 120],
    ['has a limit below two restarts of each rank', batch({ backoffLimit: 119 }), 120],
    ['is none with a limit that such restarts do not exhaust', batch({ backoffLimit: 120 }), undefined],
    [
      'is none with Never: pods that are asked to go do not count',
      batch({ restartPolicy: 'Never', backoffLimit: 0 }),
      undefined,
    ],
    ['is none with so few ranks that all are asked to go at once', batch({ pods: 15 }), undefined],
  ])('%s', (_sentence, { unsafeSuspend }, limit) => {
    expect(unsafeSuspend?.remedy).toEqual(
      limit === undefined ? undefined : `set backoffLimit to ${limit} or more, or use restart policy Never`,
    );
  });
});

describe('a JobSet that its controller may fail while it is suspended', () => {
  it.each<[sentence: string, view: ReturnType<typeof set>, limit: number | undefined]>([
    ['has a job for each node, none of which may fail', set(64, 1, 0), 2],
    ['has jobs of many pods and the usual limit', set(1, 8), 16],
    ['counts pods that end once with Never', set(2, 8, 6, 'Never'), 8],
    ['is none with limits that the ranks of each job do not exhaust', set(64, 1, 2), undefined],
    ['is none with a single rank: nothing dies of another', set(1, 1, 0), undefined],
  ])('%s', (_sentence, { unsafeSuspend }, limit) => {
    expect(unsafeSuspend?.remedy).toEqual(
      limit === undefined ? undefined : `set backoffLimit of its job templates to ${limit} or more`,
    );
  });
});

it('a TrainJob of more than one node may be failed: it does not show the limits of its runtime', () => {
  expect(jobKinds.TrainJob.view(trainJob({ name: 'llm', nodes: 2 }), taint).unsafeSuspend?.remedy).toContain(
    'recovery.unsafeSuspend.TrainJob: stop',
  );
  expect(jobKinds.TrainJob.view(trainJob({ name: 'llm', nodes: 1 }), taint).unsafeSuspend).toBeUndefined();
});

it('an Indexed batch Job with ranks that have succeeded is incomplete: they are not run again', () => {
  const job = batchJob({ name: 'llm', pods: 8 });
  const view = jobKinds.Job.view({ ...job, status: { succeeded: 2 } } as KubernetesObject, taint);
  expect(view.incomplete?.because).toBe('2 of its 8 ranks have succeeded, and cannot run again with the others');
  const spec = { ...job.spec, completionMode: 'NonIndexed' };
  expect(
    jobKinds.Job.view({ ...job, spec, status: { succeeded: 2 } } as KubernetesObject, taint).incomplete,
  ).toBeUndefined();
});
