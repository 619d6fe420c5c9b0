import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, V1OwnerReference } from '@kubernetes/client-node';
import { jobKinds, ownerJobOf } from '../../kube/jobs/kinds/index.ts';
import { belongsTo } from '../../kube/pods/pods.ts';
import { jobSet, trainJob } from '../../testbed/set-manifests.ts';
import { batchJob } from '../../testbed/job-manifests.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const optIn = { 'kcover.io/cascading-recovery': 'true' };
const tolerations = [{ operator: 'Exists' }] as const;
const set = (spec: object, status: object = {}): KubernetesObject =>
  Object.assign(jobSet({ name: 'llm' }), { spec, status });
const viewOfSet = (spec: object, status?: object) => jobKinds.JobSet.view(set(spec, status), taint);
const replicated = (name: string, replicas: number, spec: object) => ({ name, replicas, template: { spec } });

describe('the pods of a JobSet', () => {
  it.each<[string, object[], object, number]>([
    [
      'are those of all replicas of all its jobs',
      [replicated('a', 2, { parallelism: 4 }), replicated('b', 1, {})],
      {},
      9,
    ],
    ['are no more than are to complete', [replicated('a', 2, { parallelism: 4, completions: 3 })], {}, 6],
    [
      'are not those of jobs that succeeded',
      [replicated('init', 1, {}), replicated('a', 1, { parallelism: 4 })],
      { init: 1 },
      4,
    ],
  ])('%s', (_, replicatedJobs, succeeded, podsExpected) => {
    const replicatedJobsStatus = Object.entries(succeeded).map(([name, count]) => ({
      name,
      succeeded: count as number,
    }));
    expect(viewOfSet({ replicatedJobs }, { replicatedJobsStatus }).podsExpected).toBe(podsExpected);
  });

  it('restart on failure by default', () => {
    expect(viewOfSet({ replicatedJobs: [replicated('a', 1, {})] }).restartPolicy).toBe('OnFailure');
    expect(
      viewOfSet({ replicatedJobs: [replicated('a', 1, { template: { spec: { restartPolicy: 'Never' } } })] })
        .restartPolicy,
    ).toBe('Never');
  });

  it('name their replicated job as their role', () => {
    expect(jobKinds.JobSet.roleOf({ 'jobset.sigs.k8s.io/replicatedjob-name': 'Workers' })).toEqual({ role: 'workers' });
  });

  const ref = { kind: 'JobSet', namespace: 'train', name: 'llm', uid: 'set-uid' } as const;
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'llm-a-0', uid: 'job-uid', controller: true };
  const name = { 'jobset.sigs.k8s.io/jobset-name': 'llm' };
  it.each<[string, V1OwnerReference, Record<string, string>, boolean, string?]>([
    ['are known by its UID', owner, { ...name, 'jobset.sigs.k8s.io/jobset-uid': 'set-uid' }, true],
    ['are known by its name where they tell no UID', owner, name, true],
    [
      'are not those of one that had its name before',
      owner,
      { ...name, 'jobset.sigs.k8s.io/jobset-uid': 'old-uid' },
      false,
    ],
    ['are not those of a job of another name', { ...owner, name: 'other-a-0' }, name, false],
    ['are not those that no batch Job controls', { ...owner, kind: 'ReplicaSet', apiVersion: 'apps/v1' }, name, false],
    ['are not those that only look like them', owner, {}, false],
    ['are not those of another namespace', owner, name, false, 'other'],
  ])('%s', (_, each, labels, theirs, namespace = 'train') => {
    expect(belongsTo(ref, { metadata: { namespace, labels, ownerReferences: [each] } })).toBe(theirs);
  });

  it('are those of the TrainJob that owns it: its name is the same, and no label has the UID', () => {
    const pod = {
      metadata: {
        namespace: 'train',
        labels: { ...name, 'jobset.sigs.k8s.io/jobset-uid': 'set-uid' },
        ownerReferences: [owner],
      },
    };
    expect(belongsTo({ ...ref, kind: 'TrainJob', uid: 'train-uid' }, pod)).toBe(true);
    expect(belongsTo({ ...ref, kind: 'TrainJob', name: 'other', uid: 'train-uid' }, pod)).toBe(false);
  });

  it('that ended are no part of an attempt', () => {
    expect(
      belongsTo(ref, {
        metadata: { namespace: 'train', labels: name, ownerReferences: [owner] },
        status: { phase: 'Succeeded' },
      }),
    ).toBe(false);
  });
});

describe('opting in', () => {
  it('counts on the pod template of any job of a JobSet', () => {
    expect(jobKinds.JobSet.view(jobSet({ name: 'llm', podLabels: optIn }), taint).optedIn).toBe(true);
  });

  it.each<[string, object]>([
    ['podTemplateOverrides', { podTemplateOverrides: [{ metadata: { labels: optIn }, spec: { tolerations } }] }],
    ['runtimePatches', patched({ metadata: { labels: optIn }, spec: { tolerations } })],
  ])('counts on %s of a TrainJob, and so do tolerations', (_, spec) => {
    const job = trainJob({ name: 'llm', spec: { ...spec } });
    expect(jobKinds.TrainJob.view(job, taint)).toMatchObject({
      optedIn: true,
      toleratesQuarantine: true,
      podsExpected: 3,
    });
  });

  it('counts on no job that another job made', () => {
    const ownedBy = (job: KubernetesObject, apiVersion: string, kind: string) => ({
      ...job,
      metadata: { ...job.metadata, ownerReferences: [{ apiVersion, kind, name: 'llm', uid: 'u', controller: true }] },
    });
    const common = { name: 'llm', labels: optIn, podLabels: optIn };
    const child = batchJob({ ...common, pods: 1 });
    expect(jobKinds.Job.view(ownedBy(child, 'jobset.x-k8s.io/v1alpha2', 'JobSet'), taint)).toMatchObject({
      optedIn: false,
      canStopBy: [],
      failsWhenDeleted: {
        because: expect.stringContaining('jobset/llm created it'),
        remedy: 'kcover start jobset/llm',
      },
    });
    expect(
      jobKinds.JobSet.view(ownedBy(jobSet(common), 'trainer.kubeflow.org/v1alpha1', 'TrainJob'), taint).optedIn,
    ).toBe(false);
    expect(jobKinds.Job.view(ownedBy(child, 'batch/v1', 'CronJob'), taint).optedIn).toBe(true);
  });
});

it('a TrainJob asks for what its nodes ask for', () => {
  expect(jobKinds.TrainJob.view(trainJob({ name: 'llm', nodes: 4 }), taint)).toMatchObject({
    podsExpected: 4,
    gpus: 32,
  });
});

it('the maker of a job is known in later versions too, and must control it', () => {
  const owner = { apiVersion: 'jobset.x-k8s.io/v1beta1', kind: 'JobSet', name: 'llm', uid: 'u', controller: true };
  expect(ownerJobOf('Job', { namespace: 'train', ownerReferences: [owner] })).toEqual({
    kind: 'JobSet',
    namespace: 'train',
    name: 'llm',
    uid: 'u',
  });
  expect(ownerJobOf('Job', { ownerReferences: [{ ...owner, controller: false }] })).toBeUndefined();
  expect(ownerJobOf('Job', { ownerReferences: [{ ...owner, apiVersion: 'example.com/v1' }] })).toBeUndefined();
});

it('a job is owned only by a job of an owner kind, and never by one of its own kind, so that the chain of owners ends', () => {
  const owned = (kind: 'Job' | 'JobSet' | 'TrainJob', by: 'JobSet' | 'TrainJob') => {
    const apiVersion = jobKinds[by].apiVersion;
    return ownerJobOf(kind, {
      namespace: 'train',
      ownerReferences: [{ apiVersion, kind: by, name: 'llm', uid: 'u', controller: true }],
    })?.kind;
  };
  expect([owned('Job', 'JobSet'), owned('Job', 'TrainJob'), owned('JobSet', 'TrainJob')]).toEqual([
    'JobSet',
    'TrainJob',
    'TrainJob',
  ]);
  expect([owned('JobSet', 'JobSet'), owned('TrainJob', 'JobSet'), owned('TrainJob', 'TrainJob')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

function patched(template: object): object {
  return {
    runtimePatches: [
      {
        manager: 'me',
        trainingRuntimeSpec: {
          template: { spec: { replicatedJobs: [{ name: 'node', template: { spec: { template } } }] } },
        },
      },
    ],
  };
}
