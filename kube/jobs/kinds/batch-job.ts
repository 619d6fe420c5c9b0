/** Job of batch/v1. */

import type { KubernetesObject, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { JobView, Reason } from '../../../contract/job/jobs.ts';
import type { JobSizes, Labels } from '../../../contract/recovery/placement.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import type { JobKindEntry, JobRole } from './entry.ts';
import { unsafeBatchJob } from './own-failures.ts';
import { asksForAccelerators } from './rank-containers.ts';
import { specSuspend } from './suspend-field.ts';
import { type Condition, finishedBy, restartPolicyOf, suspendUnlessQueued, viewOf } from './view.ts';

interface BatchJob extends KubernetesObject {
  readonly spec?: {
    readonly parallelism?: number;
    readonly completions?: number;
    readonly completionMode?: string;
    readonly backoffLimit?: number;
    readonly template?: V1PodTemplateSpec;
  };
  readonly status?: { readonly succeeded?: number; readonly conditions?: readonly Condition[] };
}

const label = (name: string): string => `batch.kubernetes.io/${name}`;

function view(object: KubernetesObject, taint: QuarantineTaint): JobView {
  const job: BatchJob = object;
  return viewOf(
    object,
    {
      kind: 'Job',
      roles: roles(object),
      suspended: specSuspend.isSuspended(object),
      canStopBy: suspendUnlessQueued(object),
      failsWhenDeleted: {
        because: 'a batch Job counts deleted pods as failures',
        remedy: 'take the job out of the queue',
      },
      unsafeSuspend: unsafeBatchJob({
        ranks: livePods(job),
        restartPolicy: job.spec?.template?.spec?.restartPolicy,
        backoffLimit: job.spec?.backoffLimit,
      }),
      incomplete: ranksThatAreThrough(job),
      finished: finishedBy(job.status?.conditions, 'Complete', 'Failed'),
    },
    taint,
  );
}

function roles(object: KubernetesObject): readonly JobRole[] {
  const job: BatchJob = object;
  const template = job.spec?.template;
  const restartPolicy = restartPolicyOf(template?.spec?.restartPolicy, 'Never');
  return [{ replicas: livePods(job), restartPolicy, template, labels: labelsOf(object), scales: true }];
}

/** Labels of the pods, with their older names. */
function labelsOf({ metadata: { name = '', uid = '' } = {} }: KubernetesObject): Labels {
  return { [label('job-name')]: name, 'job-name': name, [label('controller-uid')]: uid, 'controller-uid': uid };
}

/** The server allows completions of an Indexed job to change only together with its parallelism. Once ranks have succeeded, fewer ranks would be different ones. */
function sizes(object: KubernetesObject): JobSizes | undefined {
  const { spec, status }: BatchJob = object;
  if (
    spec?.completionMode !== 'Indexed' ||
    spec.completions === undefined ||
    spec.completions !== spec.parallelism ||
    status?.succeeded
  )
    return undefined;
  return { now: spec.completions, least: 1 };
}

/** Its controller never reruns an index that has succeeded, so the other ranks would wait for it. */
function ranksThatAreThrough({ spec, status }: BatchJob): Reason | undefined {
  const { succeeded = 0 } = status ?? {};
  if (spec?.completionMode !== 'Indexed' || succeeded === 0) return undefined;
  return {
    because: `${succeeded} of its ${spec.completions ?? spec.parallelism ?? 1} ranks have succeeded, and cannot run again with the others`,
    remedy: 'create the job again, and let all ranks end together',
  };
}

/** Pods that succeeded are not run again. */
function livePods(job: BatchJob): number {
  const parallelism = job.spec?.parallelism ?? 1;
  const completions = job.spec?.completions;
  return completions === undefined
    ? parallelism
    : Math.max(0, Math.min(parallelism, completions - (job.status?.succeeded ?? 0)));
}

export const batchJob: JobKindEntry = {
  kind: 'Job',
  protection:
    'bad nodes and dying ranks restart the whole job; not protected: with restart policy Never a rank that dies first uses up backoffLimit, and once ranks have succeeded it is not restarted any more',
  objectKind: 'Job',
  apiVersion: 'batch/v1',
  group: 'batch',
  version: 'v1',
  plural: 'jobs',
  podsOfKind: label('controller-uid'),
  podSelector: (job) => `${label('controller-uid')}=${job.uid}`,
  view,
  ...specSuspend,
  writes: ['suspend', 'parallelism', 'completions'],
  keepsEndedPods: true,
  isRank: asksForAccelerators,
  roleOf: () => undefined,
  succeedsWith: () => undefined,
  roles,
  resizing: {
    sizes,
    templates: false,
    patch: (_, { pods }) => (pods === undefined ? {} : { parallelism: pods, completions: pods }),
  },
};
