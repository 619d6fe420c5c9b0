/** LeaderWorkerSet, the MPIJob of the mpi-operator and the Job of Volcano: facts that the conformance tests of all kinds do not check. */

import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, V1Pod } from '@kubernetes/client-node';
import { jobKinds, jobOfPod, jobsOfPods, ownerJobOf } from '../../kube/jobs/kinds/index.ts';
import { belongsTo } from '../../kube/pods/pods.ts';
import { clusterRoles } from '../../kube/rbac.ts';
import { leaderWorkerSet, mpiJobV2beta1, rayCluster, rayJob, volcanoJob } from '../../testbed/group-manifests.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const uid = 'job-uid';
const withUid = (object: KubernetesObject, status?: object): KubernetesObject & { readonly status?: object } => ({
  ...object,
  metadata: { ...object.metadata, uid, resourceVersion: '1' },
  ...(status && { status }),
});

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid?: string;
}
const podOf = (owner: Owner, labels: Readonly<Record<string, string>>, more: V1Pod = {}): V1Pod => ({
  metadata: {
    name: 'p',
    namespace: 'default',
    uid: 'p',
    labels: { ...labels },
    ownerReferences: [{ uid: 'o', ...owner, controller: true }],
  },
  ...more,
});

describe('a LeaderWorkerSet', () => {
  const view = (options: Partial<Parameters<typeof leaderWorkerSet>[0]> = {}) =>
    jobKinds.LeaderWorkerSet.view(withUid(leaderWorkerSet({ name: 'llm', ...options })), taint);
  const job = { kind: 'LeaderWorkerSet', namespace: 'default', name: 'llm', uid } as const;
  const name = { 'leaderworkerset.sigs.k8s.io/name': 'llm' };
  const set = (called: string): Owner => ({ apiVersion: 'apps/v1', kind: 'StatefulSet', name: called });

  it('has the pods of its one group, also while it is scaled to none', () => {
    expect(view({ workers: 3 })).toMatchObject({
      podsExpected: 4,
      gpus: 32,
      canStopBy: ['suspend'],
      restartPolicy: 'Always',
    });
    expect(view({ workers: 3, suspend: true })).toMatchObject({ podsExpected: 4, suspension: { by: 'owner' } });
  });

  it('with several groups is refused: those that are well would be stopped with the one that is not', () => {
    expect(view({ groups: 3 })).toMatchObject({
      podsExpected: 9,
      canStopBy: [],
      failsWhenDeleted: { because: expect.stringContaining('3 groups') },
    });
  });

  it.each<[string, V1Pod]>([
    ['its leader', podOf(set('llm'), name)],
    ['a worker', podOf(set('llm-0'), name)],
  ])('has %s, and is the job that this pod names', (_, pod) => {
    expect(belongsTo(job, pod)).toBe(true);
    expect(jobsOfPods([pod, pod])).toEqual([{ ...job, uid: '' }]);
  });

  it.each<[string, V1Pod]>([
    ['a StatefulSet of another set', podOf(set('llm-other-0'), name)],
    ['a StatefulSet whose name only begins like it', podOf(set('llm-0-1'), name)],
    ['another kind of owner', podOf({ ...set('llm'), kind: 'ReplicaSet' }, name)],
    ['a StatefulSet of another group', podOf({ ...set('llm'), apiVersion: 'example.com/v1' }, name)],
    ['nobody', { metadata: { name: 'p', namespace: 'default', labels: name } }],
    ['a set with a name that is a path', podOf(set('a/b'), { 'leaderworkerset.sigs.k8s.io/name': 'a/b' })],
  ])('does not have a pod with its label that is controlled by %s', (_, pod) => {
    expect(belongsTo(job, pod)).toBe(false);
    expect(jobOfPod(pod)).toBeUndefined();
  });
});

describe('an MPIJob of the mpi-operator', () => {
  const view = (options: Partial<Parameters<typeof mpiJobV2beta1>[0]> = {}) =>
    jobKinds.MPIJobV2beta1.view(withUid(mpiJobV2beta1({ name: 'llm', ...options })), taint);
  const owner = { apiVersion: 'kubeflow.org/v2beta1', kind: 'MPIJob', name: 'llm', uid };
  const labels = { 'training.kubeflow.org/job-name': 'llm', 'training.kubeflow.org/operator-name': 'mpi-operator' };
  const job = { kind: 'MPIJobV2beta1', namespace: 'default', name: 'llm', uid } as const;

  it('is another kind than the one of the training operator, in the same place of the cluster', () => {
    expect(jobOfPod(podOf(owner, labels))).toEqual(job);
    expect(jobOfPod(podOf({ ...owner, apiVersion: 'kubeflow.org/v1' }, labels))?.kind).toBe('MPIJob');
    const rules = clusterRoles().flatMap((object) => ('rules' in object ? (object.rules ?? []) : []));
    const patches = rules.filter(({ resources, verbs }) => resources?.includes('mpijobs') && verbs.includes('patch'));
    expect(patches).toHaveLength(2);
  });

  it('has its workers, and the pod of the batch Job that it made for its launcher', () => {
    const launcher = { apiVersion: 'batch/v1', kind: 'Job', name: 'llm-launcher', uid: 'launcher' };
    expect(belongsTo(job, podOf(owner, labels))).toBe(true);
    expect(belongsTo(job, podOf(launcher, labels))).toBe(true);
    expect(belongsTo(job, podOf({ ...launcher, name: 'other-launcher' }, labels))).toBe(false);
    expect(ownerJobOf('Job', { namespace: 'default', ownerReferences: [{ ...owner, controller: true }] })).toEqual(job);
    expect(
      ownerJobOf('Job', { ownerReferences: [{ ...owner, apiVersion: 'kubeflow.org/v1', controller: true }] }),
    ).toBeUndefined();
  });

  it('counts its launcher and its workers, and succeeds with its launcher', () => {
    expect(view({ workers: 4 })).toMatchObject({
      podsExpected: 5,
      gpus: 32,
      succeedsWith: { role: 'launcher' },
      canStopBy: ['suspend'],
    });
  });

  it('whose launcher may not fail once is reported as unsafe: it may exit before it is deleted', () => {
    expect(view({ backoffLimit: 0 }).unsafeSuspend).toMatchObject({
      remedy: 'set runPolicy.backoffLimit to 2 or more',
    });
    expect(view({ backoffLimit: 2 }).unsafeSuspend).toBeUndefined();
    expect(view().unsafeSuspend).toBeUndefined();
  });

  it('that keeps its failed workers is refused: the new ones would find their places taken', () => {
    expect(view({ spec: { runPolicy: { cleanPodPolicy: 'Running' } } }).incomplete).toMatchObject({
      remedy: expect.stringContaining('None or All'),
    });
    expect(view().incomplete).toBeUndefined();
  });
});

describe('a Job of Volcano', () => {
  const view = (spec: object = {}, status?: object, options: object = {}) =>
    jobKinds.VolcanoJob.view(
      withUid(volcanoJob({ name: 'llm', ...options, spec: { ...volcanoJob({ name: 'llm' }).spec, ...spec } }), status),
      taint,
    );
  const policy = (action: string, more: object = { event: 'PodEvicted' }) => ({ policies: [{ ...more, action }] });

  it('is stopped by deleting its pods, which its controller recreates', () => {
    expect(view()).toMatchObject({ canStopBy: ['delete-collection'], podsExpected: 3, restartPolicy: 'Never' });
  });

  it.each<[string, object]>([
    ['as a whole', policy('AbortJob')],
    ['of a task', { tasks: [{ name: 'worker', replicas: 3, ...policy('TerminateJob') }] }],
    ['for every event', policy('CompleteJob', { events: ['*'] })],
    ['for a gang that is no longer whole', policy('AbortJob', { event: 'Unknown' })],
  ])('is refused where a policy %s ends it when pods are deleted', (_, spec) => {
    expect(view(spec)).toMatchObject({
      canStopBy: [],
      failsWhenDeleted: { because: expect.stringContaining('its policy answers deleted pods with') },
    });
  });

  it.each<[string, object, number, boolean]>([
    ['the first of three restarts', {}, 0, true],
    ['the restart before the last', {}, 1, true],
    ['the restart that its controller fails it with', {}, 2, false],
    ['one of many', { maxRetry: 100 }, 50, true],
  ])('whose policy restarts it is stopped by %s, or refused', (_, spec, retryCount, can) => {
    expect(view({ ...policy('RestartJob'), ...spec }, { retryCount }).canStopBy).toEqual(
      can ? ['delete-collection'] : [],
    );
  });

  it('may restart as often as it likes for other events: pods that fail by themselves count in its own way', () => {
    expect(view(policy('RestartJob', { event: 'PodFailed' }), { retryCount: 2 }).canStopBy).toEqual([
      'delete-collection',
    ]);
  });

  it.each<[string, object | undefined]>([
    ['Running', undefined],
    ['Completed', { as: 'succeeded', because: 'Completed' }],
    ['Failed', { as: 'failed', because: 'Failed' }],
    ['Terminated', { as: 'failed', because: 'Terminated' }],
  ])('in phase %s has ended, or not', (phase, expected) => {
    expect(view({}, { state: { phase } }).finished).toEqual(expected);
  });

  it('that its owner has aborted is suspended by its owner, who may resume it', () => {
    expect(view({}, { state: { phase: 'Aborted' } }).suspension).toEqual({ by: 'owner' });
  });

  it('succeeds with the one pod of a task whose completion completes it, and otherwise with all', () => {
    const [master, worker] = volcanoJob({ name: 'llm' }).spec['tasks'] as object[];
    const completes = { ...master, policies: [{ event: 'TaskCompleted', action: 'CompleteJob' }] };
    expect(view({ tasks: [completes, worker] }).succeedsWith).toEqual({ role: 'master' });
    expect(view().succeedsWith).toBeUndefined();
  });

  it('accepts the overrides of the Ascend reference', () => {
    const labels = {
      'fault-scheduling': 'force',
      'elastic-scheduling': 'on',
      minReplicas: '2',
      'fault-retry-times': '5',
    };
    expect(view({}, undefined, { labels }).overrides).toEqual({
      mode: 'force',
      capacity: 'shrink',
      minReplicas: 2,
      retries: 5,
      ignored: [],
    });
  });
});

describe('Ray', () => {
  const owner = (kind: string, name: string): Owner => ({ apiVersion: 'ray.io/v1', kind, name, uid });
  const labels = { 'ray.io/is-ray-node': 'yes', 'ray.io/cluster': 'llm' };
  const view = (spec: object = {}, status?: object) =>
    jobKinds.RayJob.view(
      withUid(rayJob({ name: 'llm', spec: { ...rayJob({ name: 'llm' }).spec, ...spec } }), status),
      taint,
    );
  const job = { kind: 'RayJob', namespace: 'default', name: 'llm', uid } as const;

  it('has a head and the hosts of its worker groups, without groups that are suspended', () => {
    const { headGroupSpec, workerGroupSpecs } = rayCluster({ name: 'llm' }).spec as {
      headGroupSpec: object;
      workerGroupSpecs: object[];
    };
    const [group] = workerGroupSpecs;
    const groups = [
      { ...group, numOfHosts: 4 },
      { ...group, suspend: true },
    ];
    const cluster = withUid(rayCluster({ name: 'llm', spec: { headGroupSpec, workerGroupSpecs: groups } }));
    expect(jobKinds.RayCluster.view(cluster, taint)).toMatchObject({
      podsExpected: 9,
      gpus: 64,
      canStopBy: ['suspend'],
    });
  });

  it('has a job on top where one made the cluster, and the cluster is refused', () => {
    const child = {
      ...rayCluster({ name: 'llm-x5b2c' }),
      metadata: {
        name: 'llm-x5b2c',
        namespace: 'default',
        uid: 'c',
        ownerReferences: [{ ...owner('RayJob', 'llm'), uid, controller: true }],
      },
    };
    expect(ownerJobOf('RayCluster', child.metadata)).toEqual(job);
    expect(jobKinds.RayCluster.view(child, taint)).toMatchObject({
      canStopBy: [],
      failsWhenDeleted: { remedy: 'kcover start rayjob/llm' },
    });
    expect(ownerJobOf('Job', child.metadata)).toEqual(job);
  });

  it.each<[string, string, boolean]>([
    ['the cluster that the operator made for it', 'llm-x5b2c', true],
    ['one of an older operator', 'llm-raycluster-x5b2c', true],
    ['a cluster of its own whose name begins like it', 'llm-train', false],
    ['the cluster of a job whose name begins like it', 'llm-2-x5b2c', false],
    ['a cluster of the same name', 'llm', false],
  ])('has its pods in %s, or not', (_, cluster, owns) => {
    expect(belongsTo(job, podOf(owner('RayCluster', cluster), labels))).toBe(owns);
  });

  it.each<[string, object]>([
    ['keeps its cluster', { shutdownAfterJobFinishes: false }],
    ['runs in the cluster of others', { clusterSelector: { 'ray.io/cluster': 'shared' } }],
  ])('refuses to be suspended where a job %s: the operator would leave it running', (_, spec) => {
    expect(view(spec)).toMatchObject({ canStopBy: [] });
  });

  it.each<[string, object, string | undefined]>([
    ['Running', { jobStatus: 'RUNNING' }, undefined],
    ['Retrying', { jobStatus: 'FAILED' }, undefined],
    ['Complete', { jobStatus: 'SUCCEEDED' }, 'succeeded'],
    ['Complete', { jobStatus: 'STOPPED' }, 'failed'],
    ['Failed', { jobStatus: 'FAILED', reason: 'AppFailed' }, 'failed'],
  ])('in deployment status %s with %o has ended as it says, or not', (jobDeploymentStatus, status, as) => {
    expect(view({}, { jobDeploymentStatus, ...status }).finished?.as).toBe(as);
  });
});
