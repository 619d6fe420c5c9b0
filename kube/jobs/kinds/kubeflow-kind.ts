/** Builds a kind of the Kubeflow training operator from its data (1.7 or newer: older ones lack `suspend`). */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { Labels } from '../../../contract/recovery/placement.ts';
import { jobKindNames, type JobView, type PodRole } from '../../../contract/job/jobs.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import type { JobKindEntry, JobRole } from './entry.ts';
import {
  type KubeflowJob,
  type KubeflowKind,
  kubeflowLabel,
  type ReplicaRole,
  type SuccessRule,
} from './kubeflow-job.ts';
import { kubeflowResizing, replicasOf, scalingRole, writesOfSize } from './kubeflow-size.ts';
import { podRole } from './pod-role.ts';
import { isNamed } from './rank-containers.ts';
import { runPolicySuspend } from './suspend-field.ts';
import { finishedBy, restartPolicyOf, suspendUnlessQueued, viewOf } from './view.ts';

const operatorOf = ({ kind }: KubeflowKind): string => `${jobKindNames[kind]}-controller`;

export function kubeflowKind(data: KubeflowKind): JobKindEntry {
  const { kind } = data;
  const podsOfKind = `${kubeflowLabel('operator-name')}=${operatorOf(data)}`;
  return {
    kind,
    protection: `bad nodes and dying ranks restart the whole job; not protected: ${data.unprotected}`,
    objectKind: kind,
    apiVersion: 'kubeflow.org/v1',
    group: 'kubeflow.org',
    version: 'v1',
    plural: `${jobKindNames[kind]}s`,
    podsOfKind,
    podSelector: (job) => `${kubeflowLabel('job-name')}=${job.name},${podsOfKind}`,
    view: (object, taint) => view(data, object, taint),
    ...runPolicySuspend,
    writes: [...runPolicySuspend.writes, ...writesOfSize(data)],
    keepsEndedPods: false,
    isRank: isNamed(data.container),
    roleOf: (labels) =>
      podRole(labels[kubeflowLabel('replica-type')]?.toLowerCase(), labels[kubeflowLabel('replica-index')]),
    succeedsWith: (object) => succeedsWith(data, object),
    roles: (object) => jobRoles(data, object),
    resizing: kubeflowResizing(data),
  };
}

/** The operator accepts most role names in any case, and labels pods in lower case. */
function rolesOf({ roles }: KubeflowKind, { spec }: KubeflowJob): ReadonlyMap<string, ReplicaRole> {
  const given = (spec?.[roles] ?? {}) as Readonly<Record<string, ReplicaRole>>;
  return new Map(Object.entries(given).map(([name, role]) => [name.toLowerCase(), role]));
}

function view(data: KubeflowKind, object: KubernetesObject, taint: QuarantineTaint): JobView {
  const job: KubeflowJob = object;
  const roles = jobRoles(data, job);
  const recreates = roles.every((role) => data.recreatesWith.includes(role.restartPolicy));
  const failsWhenDeleted = whyDeletingFails(data, job);
  return viewOf(
    object,
    {
      kind: data.kind,
      roles,
      suspended: runPolicySuspend.isSuspended(object),
      canStopBy: [
        ...suspendUnlessQueued(object),
        ...(recreates && !failsWhenDeleted ? (['delete-collection'] as const) : []),
      ],
      failsWhenDeleted,
      finished: finishedBy(job.status?.conditions, 'Succeeded', 'Failed'),
      succeedsWith: succeedsWith(data, object),
    },
    taint,
  );
}

const jobRoles = (data: KubeflowKind, job: KubeflowJob): readonly JobRole[] =>
  [...rolesOf(data, job)].map(([name, role]) => jobRole(data, job, name, role));

const jobRole = (data: KubeflowKind, job: KubeflowJob, name: string, role: ReplicaRole): JobRole => ({
  replicas: replicasOf(data, name, role),
  restartPolicy: restartPolicyOf(role.restartPolicy, data.fillsIn.restartPolicy),
  template: role.template,
  labels: labelsOf(data, job, name),
  ...(name === scalingRole && { scales: true }),
});

/** The leading role of each kind; a TFJob without one marks only its first worker. */
const leading: ReadonlySet<string> = new Set(['master', 'chief', 'launcher']);

const labelsOf = (data: KubeflowKind, { metadata }: KubeflowJob, role: string): Labels => ({
  [kubeflowLabel('operator-name')]: operatorOf(data),
  [kubeflowLabel('job-name')]: metadata?.name ?? '',
  [kubeflowLabel('replica-type')]: role,
  ...(leading.has(role) && { [kubeflowLabel('job-role')]: 'master' }),
});

/** Reasons that hold for any restart policy. */
function whyDeletingFails({ kind, recreatesWith }: KubeflowKind, { spec }: KubeflowJob): JobView['failsWhenDeleted'] {
  if (recreatesWith.length === 0)
    return {
      because: `the controller of ${kind} fails a job whose pods are deleted, whatever its restart policy`,
      remedy: 'take the job out of the queue',
    };
  if (spec?.runPolicy?.backoffLimit === 0)
    return {
      because: 'with backoffLimit 0 its controller fails the job when pods are deleted',
      remedy: 'raise runPolicy.backoffLimit, or leave it out',
    };
  return undefined;
}

function succeedsWith(data: KubeflowKind, object: KubernetesObject): PodRole | undefined {
  const job: KubeflowJob = object;
  const roles = rolesOf(data, job);
  const rule = data.succeedsWith.find((each) => roles.has(each.role) && fits(each, job.spec ?? {}));
  return rule && { role: rule.role, ...(rule.index !== undefined && { index: rule.index }) };
}

const fits = ({ given, unless = {} }: SuccessRule, spec: Readonly<Record<string, unknown>>): boolean =>
  (given === undefined || (spec[given] ?? undefined) !== undefined) &&
  !Object.entries(unless).some(([field, value]) => spec[field] === value);
