/** JobSet of jobset.x-k8s.io/v1alpha2: its pods are those of the batch Jobs that it creates. Source: version 0.10.1. */

import type { KubernetesObject, V1JobSpec, V1Pod } from '@kubernetes/client-node';
import type { JobRef, JobView } from '../../../contract/job/jobs.ts';
import type { Labels } from '../../../contract/recovery/placement.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import type { JobKindEntry, JobRole } from './entry.ts';
import { controllerOf } from './owner-jobs.ts';
import { unsafeSet } from './own-failures.ts';
import { podRole } from './pod-role.ts';
import { asksForAccelerators } from './rank-containers.ts';
import { specSuspend } from './suspend-field.ts';
import { type Condition, finishedBy, restartPolicyOf, suspendUnlessQueued, viewOf } from './view.ts';

const label = (name: string): string => `jobset.sigs.k8s.io/${name}`;

interface ReplicatedJob {
  readonly name: string;
  readonly replicas?: number;
  readonly template?: { readonly spec?: V1JobSpec };
}

interface JobSet extends KubernetesObject {
  readonly spec?: { readonly replicatedJobs?: readonly ReplicatedJob[] };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly replicatedJobsStatus?: readonly { readonly name: string; readonly succeeded?: number }[];
  };
}

/** Labels of pods of a JobSet, and of a TrainJob, whose JobSet has the same name. */
export const podsOfSets = label('jobset-name');
export const selectorOfSet = ({ name }: JobRef): string => `${podsOfSets}=${name}`;

/** Labels of the pods of one of its replicated jobs. */
export const labelsOfSet = (set: string, replicatedJob: string): Labels => ({
  [podsOfSets]: set,
  [label('replicatedjob-name')]: replicatedJob,
});

/** Whether a batch Job of the JobSet of this name, in the same namespace, controls the pod: labels alone can be forged. */
export function isOfSet({ namespace, name }: JobRef, { metadata }: V1Pod): boolean {
  const owner = controllerOf(metadata?.ownerReferences);
  const ofJob = owner?.kind === 'Job' && owner.apiVersion.startsWith('batch/') && owner.name.startsWith(`${name}-`);
  return ofJob && metadata?.namespace === namespace && metadata.labels?.[podsOfSets] === name;
}

/** JobSets before 0.9 have no UID label. */
function owns(job: JobRef, pod: V1Pod): boolean {
  const uid = pod.metadata?.labels?.[label('jobset-uid')];
  return isOfSet(job, pod) && (uid === undefined || uid === job.uid);
}

/** Why a JobSet, or a job built on one, cannot be stopped by deleting its pods. */
export const failsWhenDeleted: JobView['failsWhenDeleted'] = {
  because: 'its batch Jobs count deleted pods as failures',
  remedy: 'take the job out of the queue',
};

function view(object: KubernetesObject, taint: QuarantineTaint): JobView {
  const set: JobSet = object;
  return viewOf(
    object,
    {
      kind: 'JobSet',
      roles: roles(object),
      suspended: specSuspend.isSuspended(object),
      canStopBy: suspendUnlessQueued(object),
      failsWhenDeleted,
      unsafeSuspend: unsafeSet((set.spec?.replicatedJobs ?? []).map(limitsOf)),
      finished: finishedBy(set.status?.conditions, 'Completed', 'Failed'),
    },
    taint,
  );
}

function roles(object: KubernetesObject): readonly JobRole[] {
  const set: JobSet = object;
  return (set.spec?.replicatedJobs ?? []).map((each) => roleOf(set, each));
}

function limitsOf({ replicas = 1, template }: ReplicatedJob) {
  const { parallelism = 1, completions = parallelism, backoffLimit, template: pod } = template?.spec ?? {};
  return {
    replicas,
    ranks: Math.min(parallelism, completions),
    restartPolicy: pod?.spec?.restartPolicy ?? 'OnFailure',
    backoffLimit,
  };
}

/** Jobs that succeeded are not run again. */
function roleOf({ metadata, status }: JobSet, { name, replicas = 1, template }: ReplicatedJob): JobRole {
  const succeeded = status?.replicatedJobsStatus?.find((each) => each.name === name)?.succeeded ?? 0;
  const { parallelism = 1, completions, template: pod } = template?.spec ?? {};
  return {
    replicas: Math.max(0, replicas - succeeded) * Math.min(parallelism, completions ?? parallelism),
    restartPolicy: restartPolicyOf(pod?.spec?.restartPolicy, 'OnFailure'),
    template: pod,
    labels: labelsOfSet(metadata?.name ?? '', name),
  };
}

export const jobSet: JobKindEntry = {
  kind: 'JobSet',
  protection:
    'bad nodes and dying ranks restart the whole set; not protected: a batch Job of it that fails by its own backoffLimit before it is stopped, which fails the set or uses one of maxRestarts',
  objectKind: 'JobSet',
  apiVersion: 'jobset.x-k8s.io/v1alpha2',
  group: 'jobset.x-k8s.io',
  version: 'v1alpha2',
  plural: 'jobsets',
  podsOfKind: podsOfSets,
  podSelector: selectorOfSet,
  owns,
  controlsNoPods: true,
  view,
  ...specSuspend,
  keepsEndedPods: true,
  isRank: asksForAccelerators,
  roleOf: (labels) => podRole(labels[label('replicatedjob-name')]?.toLowerCase()),
  succeedsWith: () => undefined,
  roles,
};
