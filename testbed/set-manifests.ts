import type { KubernetesObject } from '@kubernetes/client-node';
import type { JobKind } from '../contract/jobs.ts';
import { batchJob, type JobManifest, type JobOptions, kubeflowJob, podTemplate } from './job-manifests.ts';

/** Pods of each replicated job, by its name; one job of each. */
export interface JobSetOptions extends JobOptions {
  readonly roles?: Readonly<Record<string, number>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface SetManifest extends KubernetesObject {
  readonly kind: 'JobSet' | 'TrainJob';
  readonly spec: Readonly<Record<string, unknown>>;
}

const metadataOf = ({ name, namespace = 'default', labels = {}, annotations = {} }: JobOptions) => ({
  name,
  namespace,
  labels: { ...labels },
  annotations: { ...annotations },
});

/** No controller of it runs in the testbed. */
export function jobSet({ roles = { leader: 1, workers: 2 }, spec, ...options }: JobSetOptions): SetManifest {
  const replicatedJobs = Object.entries(roles).map(([name, pods]) => ({
    name,
    replicas: 1,
    template: { spec: { parallelism: pods, completions: pods, template: podTemplate(options, 'trainer', {}) } },
  }));
  const { suspend } = options;
  return {
    apiVersion: 'jobset.x-k8s.io/v1alpha2',
    kind: 'JobSet',
    metadata: metadataOf(options),
    spec: { replicatedJobs, ...(suspend !== undefined && { suspend }), ...spec },
  };
}

/** No controller of it runs in the testbed. */
export function trainJob({ nodes = 3, spec, ...options }: Omit<JobSetOptions, 'roles'> & { readonly nodes?: number }): SetManifest {
  const { gpus = 8, suspend } = options;
  return {
    apiVersion: 'trainer.kubeflow.org/v1alpha1',
    kind: 'TrainJob',
    metadata: metadataOf(options),
    spec: {
      runtimeRef: { name: 'torch-distributed' },
      trainer: { numNodes: nodes, ...(gpus > 0 && { resourcesPerNode: { limits: { 'nvidia.com/gpu': String(gpus) } } }) },
      ...(suspend !== undefined && { suspend }),
      ...spec,
    },
  };
}

/** A job of any kind that has three pods. */
export function manifestOf(kind: JobKind, options: JobOptions): JobManifest | SetManifest {
  if (kind === 'Job') return batchJob({ ...options, pods: 3 });
  if (kind === 'JobSet') return jobSet(options);
  return kind === 'TrainJob' ? trainJob(options) : kubeflowJob(kind, options);
}
