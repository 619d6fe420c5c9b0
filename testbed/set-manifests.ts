import type { JobKind } from '../contract/job/jobs.ts';
import {
  type GroupManifest,
  leaderWorkerSet,
  metadataOf,
  mpiJobV2beta1,
  rayCluster,
  rayJob,
  volcanoJob,
} from './group-manifests.ts';
import {
  batchJob,
  type JobManifest,
  type JobOptions,
  kubeflowJob,
  kubeflowKinds,
  podTemplate,
} from './job-manifests.ts';

/** Pods of each replicated job, by its name; one job of each. */
export interface JobSetOptions extends JobOptions {
  readonly roles?: Readonly<Record<string, number>>;
  /** By default its webhook decides. */
  readonly restartPolicy?: 'Never' | 'OnFailure';
  readonly spec?: Readonly<Record<string, unknown>>;
}

export function jobSet({
  roles = { leader: 1, workers: 2 },
  restartPolicy,
  spec,
  ...options
}: JobSetOptions): GroupManifest {
  const { suspend, backoffLimit } = options;
  const replicatedJobs = Object.entries(roles).map(([name, pods]) => ({
    name,
    replicas: 1,
    template: {
      spec: {
        parallelism: pods,
        completions: pods,
        ...(backoffLimit !== undefined && { backoffLimit }),
        template: podTemplate(options, 'trainer', { ...(restartPolicy && { restartPolicy }) }),
      },
    },
  }));
  return {
    apiVersion: 'jobset.x-k8s.io/v1alpha2',
    kind: 'JobSet',
    metadata: metadataOf(options),
    spec: { replicatedJobs, ...(suspend !== undefined && { suspend }), ...spec },
  };
}

export function trainJob({
  nodes = 3,
  spec,
  ...options
}: Omit<JobSetOptions, 'roles'> & { readonly nodes?: number }): GroupManifest {
  const { gpus = 8, suspend } = options;
  return {
    apiVersion: 'trainer.kubeflow.org/v1alpha1',
    kind: 'TrainJob',
    metadata: metadataOf(options),
    spec: {
      runtimeRef: { name: 'torch-distributed' },
      trainer: {
        numNodes: nodes,
        ...(gpus > 0 && { resourcesPerNode: { limits: { 'nvidia.com/gpu': String(gpus) } } }),
      },
      ...(suspend !== undefined && { suspend }),
      ...spec,
    },
  };
}

/** A runtime with one role, whose pods take a second to stop and end with an error then. */
function trainingRuntime(
  name: string,
  backoffLimit: number,
  policy: { readonly restartPolicy?: 'Never' },
): GroupManifest {
  const pods = podTemplate({ name, gpus: 0, terminationSeconds: 1, exitOnTerm: 143 }, 'node', policy);
  const labels = { 'trainer.kubeflow.org/trainjob-ancestor-step': 'trainer' };
  const node = { name: 'node', template: { metadata: { labels }, spec: { backoffLimit, template: pods } } };
  return {
    apiVersion: 'trainer.kubeflow.org/v1alpha1',
    kind: 'ClusterTrainingRuntime',
    metadata: { name },
    spec: {
      mlPolicy: { numNodes: 1, torch: { numProcPerNode: 'auto' } },
      template: { spec: { replicatedJobs: [node] } },
    },
  };
}

export const runtimeWithoutRetries = 'torch-without-retries';

export const trainingRuntimes: readonly GroupManifest[] = [
  trainingRuntime('torch-distributed', 6, {}),
  trainingRuntime(runtimeWithoutRetries, 0, { restartPolicy: 'Never' }),
];

/** Kinds whose definitions every test cluster has. */
export const kindsHere: readonly JobKind[] = [...kubeflowKinds, 'Job', 'JobSet', 'TrainJob'];

/** A job of any kind that has three pods. */
export function manifestOf(kind: JobKind, options: JobOptions): JobManifest | GroupManifest {
  if (kind === 'Job') return batchJob({ ...options, pods: 3 });
  if (kind === 'JobSet') return jobSet(options);
  if (kind === 'TrainJob') return trainJob(options);
  if (kind === 'LeaderWorkerSet') return leaderWorkerSet(options);
  if (kind === 'MPIJobV2beta1') return mpiJobV2beta1(options);
  if (kind === 'VolcanoJob') return volcanoJob(options);
  if (kind === 'RayJob') return rayJob(options);
  if (kind === 'RayCluster') return rayCluster(options);
  return kubeflowJob(kind, options);
}
