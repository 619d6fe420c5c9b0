import type { KubernetesObject } from '@kubernetes/client-node';
import { type JobOptions, podTemplate } from './job-manifests.ts';

/** A job of a kind whose controller runs only where a test starts it. */
export interface GroupManifest extends KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface GroupOptions extends JobOptions {
  /** Workers, in addition to the leader. */
  readonly workers?: number;
  readonly spec?: Readonly<Record<string, unknown>>;
}

export const metadataOf = ({ name, namespace = 'default', labels = {}, annotations = {} }: JobOptions) => ({
  name,
  namespace,
  labels: { ...labels },
  annotations: { ...annotations },
});

export function leaderWorkerSet({
  workers = 2,
  groups = 1,
  spec,
  ...options
}: GroupOptions & { readonly groups?: number }): GroupManifest {
  return {
    apiVersion: 'leaderworkerset.x-k8s.io/v1',
    kind: 'LeaderWorkerSet',
    metadata: metadataOf(options),
    spec: {
      replicas: options.suspend ? 0 : groups,
      leaderWorkerTemplate: {
        size: workers + 1,
        workerTemplate: podTemplate(options, 'trainer', {}),
        restartPolicy: 'RecreateGroupOnPodRestart',
      },
      ...spec,
    },
  };
}

export function mpiJobV2beta1({ workers = 2, spec, ...options }: GroupOptions): GroupManifest {
  const { suspend, backoffLimit } = options;
  const role = (replicas: number, gpus: number | undefined) => ({
    replicas,
    template: podTemplate({ ...options, ...(gpus !== undefined && { gpus }) }, 'mpi', {}),
  });
  return {
    apiVersion: 'kubeflow.org/v2beta1',
    kind: 'MPIJob',
    metadata: metadataOf(options),
    spec: {
      runPolicy: {
        cleanPodPolicy: 'None',
        ...(suspend !== undefined && { suspend }),
        ...(backoffLimit !== undefined && { backoffLimit }),
      },
      mpiReplicaSpecs: { Launcher: role(1, 0), Worker: role(workers, options.gpus) },
      ...spec,
    },
  };
}

export function volcanoJob({ workers = 2, spec, ...options }: GroupOptions): GroupManifest {
  const task = (name: string, replicas: number) => ({
    name,
    replicas,
    template: podTemplate(options, 'trainer', { restartPolicy: 'Never' }),
  });
  return {
    apiVersion: 'batch.volcano.sh/v1alpha1',
    kind: 'Job',
    metadata: metadataOf(options),
    spec: {
      minAvailable: workers + 1,
      schedulerName: 'volcano',
      tasks: [task('master', 1), task('worker', workers)],
      ...spec,
    },
  };
}

const clusterSpec = ({ workers = 2, ...options }: GroupOptions) => ({
  headGroupSpec: { rayStartParams: {}, template: podTemplate({ ...options, gpus: 0 }, 'ray-head', {}) },
  workerGroupSpecs: [
    {
      groupName: 'gpus',
      replicas: workers,
      minReplicas: workers,
      maxReplicas: workers,
      rayStartParams: {},
      template: podTemplate(options, 'ray-worker', {}),
    },
  ],
});

export function rayCluster({ spec, ...options }: GroupOptions): GroupManifest {
  const { suspend } = options;
  return {
    apiVersion: 'ray.io/v1',
    kind: 'RayCluster',
    metadata: metadataOf(options),
    spec: { ...clusterSpec(options), ...(suspend !== undefined && { suspend }), ...spec },
  };
}

export function rayJob({ spec, ...options }: GroupOptions): GroupManifest {
  const { suspend } = options;
  return {
    apiVersion: 'ray.io/v1',
    kind: 'RayJob',
    metadata: metadataOf(options),
    spec: {
      entrypoint: 'python train.py',
      shutdownAfterJobFinishes: true,
      rayClusterSpec: clusterSpec(options),
      ...(suspend !== undefined && { suspend }),
      ...spec,
    },
  };
}
