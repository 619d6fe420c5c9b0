/** PyTorchJob of the Kubeflow training operator (v1.7 or newer: older ones do not know `suspend`). */

import type { KubernetesObject, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { JobView, StopMethod } from '../../contract/jobs.ts';
import type { JobKindEntry, JobRole, QuarantineTaint } from './entry.ts';
import { type Condition, finishedBy, isRestartPolicy, queueLabel, viewOf } from './view.ts';

interface PyTorchJob extends KubernetesObject {
  readonly spec?: {
    readonly pytorchReplicaSpecs?: Readonly<
      Record<string, { readonly replicas?: number; readonly restartPolicy?: string; readonly template?: V1PodTemplateSpec }>
    >;
    readonly runPolicy?: { readonly suspend?: boolean };
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The operator fills in OnFailure where a role says nothing. */
const rolesOf = (job: PyTorchJob): JobRole[] =>
  Object.values(job.spec?.pytorchReplicaSpecs ?? {}).map((role) => ({
    replicas: role.replicas ?? 1,
    restartPolicy: isRestartPolicy(role.restartPolicy) ? role.restartPolicy : 'OnFailure',
    template: role.template,
  }));

function view(object: KubernetesObject, taint: QuarantineTaint): JobView {
  const job: PyTorchJob = object;
  const roles = rolesOf(job);
  return viewOf(
    object,
    {
      kind: 'PyTorchJob',
      roles,
      podsExpected: roles.reduce((sum, role) => sum + role.replicas, 0),
      suspended: isSuspended(object),
      canStopBy: waysToStop(job, roles),
      finished: finishedBy(job.status?.conditions, 'Succeeded', 'Failed'),
    },
    taint,
  );
}

/** Deleted pods fail a job with Never, and with ExitCode when a rank ends in an exit code below 128. */
function waysToStop(job: PyTorchJob, roles: readonly JobRole[]): StopMethod[] {
  const queued = job.metadata?.labels?.[queueLabel] !== undefined;
  const restarts = roles.every((role) => role.restartPolicy === 'OnFailure' || role.restartPolicy === 'Always');
  return [...(queued ? [] : (['suspend'] as const)), ...(restarts ? (['delete-collection'] as const) : [])];
}

function isSuspended(object: KubernetesObject): boolean {
  const job: PyTorchJob = object;
  return job.spec?.runPolicy?.suspend === true;
}

export const pytorchJob: JobKindEntry = {
  kind: 'PyTorchJob',
  apiVersion: 'kubeflow.org/v1',
  group: 'kubeflow.org',
  version: 'v1',
  plural: 'pytorchjobs',
  podSelector: (job) => `training.kubeflow.org/job-name=${job.name},training.kubeflow.org/operator-name=pytorchjob-controller`,
  view,
  suspend: (suspended) => ({ runPolicy: { suspend: suspended } }),
  isSuspended,
  keepsEndedPods: false,
  succeedsWith: (object: PyTorchJob) => (object.spec?.pytorchReplicaSpecs?.['Master'] ? 'Master' : 'all'),
};
