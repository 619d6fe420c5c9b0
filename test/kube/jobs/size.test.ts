import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@kubernetes/client-node';
import type { JobKind, JobRef } from '../../../contract/job/jobs.ts';
import type { ResizeRequest } from '../../../contract/recovery/plan.ts';
import { jobKinds } from '../../../kube/jobs/kinds/index.ts';
import { planOf } from '../../../kube/jobs/size.ts';
import { batchJob, kubeflowJob, type KubeflowKindName } from '../../../testbed/job-manifests.ts';

const incident = 'recovery/default/llm/job-uid/2026-11-21T07:09:03.117Z';
const ours = { 'kcover.io/suspended-by': `${incident}#1` };
const refOf = (kind: JobKind): JobRef => ({ kind, namespace: 'default', name: 'llm', uid: 'job-uid' });

interface Given {
  readonly workers?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly suspend?: boolean;
  readonly spec?: Readonly<Record<string, unknown>>;
}
const kubeflow = (
  kind: KubeflowKindName,
  { workers = 3, annotations = ours, suspend = true, spec = {} }: Given = {},
): KubernetesObject => {
  const lead = { PyTorchJob: 'Master', TFJob: 'Chief', MPIJob: 'Launcher', XGBoostJob: 'Master', PaddleJob: 'Master' }[
    kind
  ];
  return kubeflowJob(kind, {
    name: 'llm',
    annotations,
    suspend,
    roles: { [lead]: 1, Worker: workers },
    spec,
  }) as unknown as KubernetesObject;
};
const batch = (spec: object = {}, status: object = {}): KubernetesObject => {
  const job = batchJob({ name: 'llm', pods: 4, annotations: ours, suspend: true });
  return { ...job, spec: { ...job.spec, ...spec }, status } as unknown as KubernetesObject;
};
const plan = (
  kind: JobKind,
  object: KubernetesObject,
  target: Pick<ResizeRequest, 'pods' | 'priorityClass'>,
  classless?: string,
) => planOf(object, { job: refOf(kind), incident, ...target }, classless);
const sizes = (kind: JobKind, object: KubernetesObject) => jobKinds[kind].resizing?.sizes(object);

describe.each<[KubeflowKindName, string]>([
  ['PyTorchJob', 'pytorchReplicaSpecs'],
  ['TFJob', 'tfReplicaSpecs'],
  ['MPIJob', 'mpiReplicaSpecs'],
  ['XGBoostJob', 'xgbReplicaSpecs'],
  ['PaddleJob', 'paddleReplicaSpecs'],
])('a %s', (kind, roles) => {
  it('can have fewer workers, at least one, and keeps its leading role', () => {
    expect(sizes(kind, kubeflow(kind))).toEqual({ now: 4, least: 2 });
    expect(plan(kind, kubeflow(kind), { pods: 3 })).toMatchObject({
      kind: 'resize',
      before: 4,
      after: 3,
      spec: { [roles]: { Worker: { replicas: 2 } } },
    });
  });
});

describe('a PyTorchJob', () => {
  it.each<[sentence: string, elasticPolicy: object, least: number]>([
    ['keeps to the least of its elastic policy', { minReplicas: 2, maxReplicas: 3 }, 3],
    ['whose policy names only the most keeps its size', { maxReplicas: 3 }, 4],
    ['whose policy names no bound keeps its size', {}, 4],
    ['is not made larger for its policy', { minReplicas: 8 }, 4],
  ])('%s', (_, elasticPolicy, least) => {
    expect(sizes('PyTorchJob', kubeflow('PyTorchJob', { spec: { elasticPolicy } }))).toEqual({ now: 4, least });
  });

  it('keeps its size when its owner has counted what the gang needs', () => {
    const schedulingPolicy = { minResources: { 'nvidia.com/gpu': '32' } };
    expect(
      sizes('PyTorchJob', kubeflow('PyTorchJob', { spec: { runPolicy: { suspend: true, schedulingPolicy } } })),
    ).toBeUndefined();
  });

  it('has one size without workers', () => {
    const alone = kubeflowJob('PyTorchJob', { name: 'llm', roles: { Master: 1 } }) as unknown as KubernetesObject;
    expect(sizes('PyTorchJob', alone)).toBeUndefined();
  });

  it('gives its pods a priority class, with another size or without', () => {
    const template = { spec: { priorityClassName: 'urgent' } };
    expect(plan('PyTorchJob', kubeflow('PyTorchJob'), { priorityClass: 'urgent' })).toEqual({
      kind: 'resize',
      before: 4,
      after: 4,
      spec: { pytorchReplicaSpecs: { Master: { template }, Worker: { template } } },
    });
    expect(plan('PyTorchJob', kubeflow('PyTorchJob'), { pods: 2, priorityClass: 'urgent' })).toMatchObject({
      spec: { pytorchReplicaSpecs: { Master: { template }, Worker: { replicas: 1, template } } },
    });
  });

  it('is given another size without the priority that it cannot have, and says why', () => {
    const classless = 'there is no priority class urgent';
    expect(plan('PyTorchJob', kubeflow('PyTorchJob'), { pods: 2, priorityClass: 'urgent' }, classless)).toEqual({
      kind: 'resize',
      before: 4,
      after: 2,
      ignored: classless,
      spec: { pytorchReplicaSpecs: { Master: {}, Worker: { replicas: 1 } } },
    });
    expect(plan('PyTorchJob', kubeflow('PyTorchJob'), { priorityClass: 'urgent' }, classless)).toEqual({
      kind: 'refused',
      because: classless,
    });
  });

  it('lets its gang scheduler wait for no more pods than there are', () => {
    const job = kubeflow('PyTorchJob', {
      spec: { runPolicy: { suspend: true, schedulingPolicy: { minAvailable: 4 } } },
    });
    expect(plan('PyTorchJob', job, { pods: 3 })).toMatchObject({
      spec: { runPolicy: { schedulingPolicy: { minAvailable: 3 } } },
    });
  });
});

describe('the size that a job had', () => {
  const before = (now: number, noted: string, pods: number) =>
    plan(
      'PyTorchJob',
      kubeflow('PyTorchJob', { workers: now - 1, annotations: { ...ours, 'kcover.io/pods-before': noted } }),
      { pods },
    );
  it('is answered again when it is made smaller twice', () => {
    expect(before(3, '4', 3)).toMatchObject({ before: 4, after: 3 });
  });
  it('is that of its owner after several incidents', () => {
    expect(before(6, '8', 4)).toMatchObject({ before: 8, after: 4 });
  });
  it('is dropped when its owner has made the job larger since', () => {
    expect(before(6, '4', 5)).toMatchObject({ before: 6, after: 5 });
  });
  it('is the present one when the note makes no sense', () => {
    expect(before(4, 'many', 3)).toMatchObject({ before: 4, after: 3 });
  });
});

describe('a batch Job', () => {
  it('is given completions and parallelism together', () => {
    expect(sizes('Job', batch())).toEqual({ now: 4, least: 1 });
    expect(plan('Job', batch(), { pods: 2, priorityClass: 'urgent' })).toEqual({
      kind: 'resize',
      before: 4,
      after: 2,
      ignored: 'the pods of a Job keep their priority',
      spec: { parallelism: 2, completions: 2 },
    });
  });

  it.each([
    ['that is not Indexed', batch({ completionMode: 'NonIndexed' })],
    ['with more completions than pods at once', batch({ completions: 8 })],
    ['without completions', batch({ completions: undefined })],
    ['with ranks that have succeeded', batch({}, { succeeded: 1 })],
  ])('%s keeps its size', (_, job) => {
    expect(plan('Job', job, { pods: 2 })).toMatchObject({ kind: 'refused', because: 'it cannot be resized' });
  });

  it('keeps the priority of its pods', () => {
    expect(plan('Job', batch(), { priorityClass: 'urgent' })).toMatchObject({
      kind: 'refused',
      because: 'the pods of a Job keep their priority',
    });
  });
});

describe('another size is refused', () => {
  it.each<[sentence: string, given: Given, pods: number, because: string]>([
    ['while the job runs', { suspend: false }, 3, 'it is not suspended by this incident'],
    ['while its owner has suspended it', { annotations: {} }, 3, 'it is not suspended by this incident'],
    [
      'while another incident has suspended it',
      { annotations: { 'kcover.io/suspended-by': `${incident}0#1` } },
      3,
      'it is not suspended by this incident',
    ],
    ['below the least', {}, 1, 'it has 4 pods and can have 2 to 4, not 1'],
    ['above what it has', {}, 5, 'it has 4 pods and can have 2 to 4, not 5'],
  ])('%s', (_, given, pods, because) => {
    expect(plan('PyTorchJob', kubeflow('PyTorchJob', given), { pods })).toEqual({ kind: 'refused', because });
  });
});
