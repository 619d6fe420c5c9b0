/**
 * Job of batch.volcano.sh/v1alpha1. Source: the controller at commit 5a81a279 (`syncJob`, `killJob`, `applyPolicies`, the states). It recreates
 * deleted pods, unless a lifecycle policy maps the deletion to another action. It has no `suspend`: its commands AbortJob and ResumeJob use one
 * of `maxRetry` each time, and cannot be bound to a version of the job.
 */

import type { KubernetesObject, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { JobView, PodRole, Reason } from '../../../contract/job/jobs.ts';
import { foreignText } from '../../../faults/foreign-text.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import type { JobKindEntry, JobRole } from './entry.ts';
import { podRole } from './pod-role.ts';
import { asksForAccelerators } from './rank-containers.ts';
import { restartPolicyOf, viewOf } from './view.ts';

interface LifecyclePolicy {
  readonly event?: string;
  readonly events?: readonly string[];
  readonly action?: string;
}

interface Task {
  readonly name?: string;
  readonly replicas?: number;
  readonly template?: V1PodTemplateSpec;
  readonly policies?: readonly LifecyclePolicy[];
}

interface VolcanoJob extends KubernetesObject {
  readonly spec?: {
    readonly tasks?: readonly Task[];
    readonly policies?: readonly LifecyclePolicy[];
    readonly maxRetry?: number;
  };
  readonly status?: {
    readonly state?: { readonly phase?: string; readonly reason?: string; readonly message?: string };
    readonly retryCount?: number;
  };
}

const label = (name: string): string => `volcano.sh/${name}`;
const podsOfKind = label('job-name');

function view(object: KubernetesObject, taint: QuarantineTaint): JobView {
  const failsWhenDeleted = whyDeletingFails(object);
  return viewOf(
    object,
    {
      kind: 'VolcanoJob',
      roles: roles(object),
      suspended: isSuspended(object),
      canStopBy: failsWhenDeleted ? [] : ['delete-collection'],
      failsWhenDeleted,
      finished: finished(object),
      succeedsWith: succeedsWith(object),
    },
    taint,
  );
}

/** Events that the deletion of pods raises: the pods were evicted, and their group has fewer than it needs. */
const raisedByDeletion: ReadonlySet<string> = new Set(['PodEvicted', 'Unknown', '*']);

/** Source: `DefaultMaxRetry` of the admission webhook. */
const usualMaxRetry = 3;

function whyDeletingFails(object: KubernetesObject): Reason | undefined {
  const { spec = {}, status }: VolcanoJob = object;
  const answers = [spec, ...(spec.tasks ?? [])].flatMap(({ policies = [] }) =>
    policies.filter(isRaised).map(({ action = 'SyncJob' }) => action),
  );
  const other = answers.find((action) => action !== 'RestartJob' && action !== 'SyncJob');
  if (other !== undefined) {
    return {
      because: `its policy answers deleted pods with ${other}`,
      remedy: 'let its policies for PodEvicted, Unknown and * be RestartJob, or leave them out',
    };
  }
  const { maxRetry = usualMaxRetry } = spec;
  const { retryCount = 0 } = status ?? {};
  if (!answers.includes('RestartJob') || retryCount + 1 < maxRetry) return undefined;
  return {
    because: `its policy answers deleted pods with RestartJob, and its controller fails it with restart ${retryCount + 1} of maxRetry ${maxRetry}`,
    remedy: 'remove its policies for PodEvicted, Unknown and *, or create it with a higher maxRetry',
  };
}

const isRaised = ({ event, events = [] }: LifecyclePolicy): boolean =>
  [...events, event ?? ''].some((each) => raisedByDeletion.has(each));

function roles(object: KubernetesObject): readonly JobRole[] {
  const { metadata, spec }: VolcanoJob = object;
  return (spec?.tasks ?? []).map(({ name = 'default', replicas = 1, template }) => ({
    replicas,
    restartPolicy: restartPolicyOf(template?.spec?.restartPolicy, 'Always'),
    template,
    labels: {
      [podsOfKind]: metadata?.name ?? '',
      [label('job-namespace')]: metadata?.namespace ?? '',
      [label('task-spec')]: name,
    },
  }));
}

/** Its owner has aborted it, and may resume it. */
function isSuspended(object: KubernetesObject): boolean {
  const { status }: VolcanoJob = object;
  return status?.state?.phase === 'Aborting' || status?.state?.phase === 'Aborted';
}

const ends: Readonly<Record<string, 'succeeded' | 'failed'>> = {
  Completed: 'succeeded',
  Failed: 'failed',
  Terminated: 'failed',
};

function finished(object: KubernetesObject): JobView['finished'] {
  const { phase = '', reason, message } = (object as VolcanoJob).status?.state ?? {};
  const as = ends[phase];
  return as && { as, because: foreignText([reason, message].filter(Boolean).join(': ')) || phase };
}

/** The one pod of a task whose completion completes the job. */
function succeedsWith(object: KubernetesObject): PodRole | undefined {
  const { spec }: VolcanoJob = object;
  const isDecisive = ({ event, events = [], action }: LifecyclePolicy): boolean =>
    action === 'CompleteJob' && [...events, event].includes('TaskCompleted');
  const task = (spec?.tasks ?? []).find(
    ({ replicas = 1, policies = [] }) => replicas === 1 && policies.some(isDecisive),
  );
  return task?.name === undefined ? undefined : { role: task.name };
}

export const volcanoJob: JobKindEntry = {
  kind: 'VolcanoJob',
  protection:
    'bad nodes and dying ranks have all its pods deleted and recreated; not protected: a job whose own policies end it when pods fail or are deleted, and it cannot be shrunk',
  objectKind: 'Job',
  apiVersion: 'batch.volcano.sh/v1alpha1',
  group: 'batch.volcano.sh',
  version: 'v1alpha1',
  plural: 'jobs',
  podsOfKind,
  podSelector: ({ name }) => `${podsOfKind}=${name}`,
  view,
  isSuspended,
  writes: [],
  keepsEndedPods: false,
  isRank: asksForAccelerators,
  roleOf: (labels) => podRole(labels[label('task-spec')], labels[label('task-index')]),
  succeedsWith,
  roles,
};
