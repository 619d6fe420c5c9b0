/** The parts of a job's view that do not depend on its kind. */

import type { KubernetesObject, V1ObjectMeta, V1PodTemplateSpec } from '@kubernetes/client-node';
import { annotations, labels } from '../../../contract/ids.ts';
import {
  type JobKind,
  type JobRef,
  jobTitle,
  type JobView,
  type RestartPolicy,
  type StopMethod,
  type Suspension,
} from '../../../contract/job/jobs.ts';
import { parseRestart } from '../../../contract/progress/restart.schema.ts';
import { foreignText } from '../../../faults/foreign-text.ts';
import { progressOf } from '../progress.ts';
import { isAccelerator } from '../../../faults/devices/accelerator.ts';
import type { QuarantineTaint } from '../../nodes/nodes.ts';
import { requestsOf } from '../../pods/requests.ts';
import { overridesOf } from '../overrides.ts';
import { timeOf, timeOrEpoch } from '../../client/time.ts';
import type { JobRole, ViewParts } from './entry.ts';
import { ownerJobOf } from './owner-jobs.ts';

/** Kueue's queue of the job, which owns `suspend` if present. */
const queueOf = ({ metadata }: KubernetesObject): string | undefined => metadata?.labels?.['kueue.x-k8s.io/queue-name'];

/** Ways of stopping a job of a kind that can be suspended: none where a queue owns `suspend`. */
export const suspendUnlessQueued = (object: KubernetesObject): readonly StopMethod[] =>
  queueOf(object) === undefined ? ['suspend'] : [];

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export function jobRefOf(kind: JobKind, metadata: V1ObjectMeta | undefined): JobRef {
  return { kind, namespace: metadata?.namespace ?? '', name: metadata?.name ?? '', uid: metadata?.uid ?? '' };
}

export function viewOf(object: KubernetesObject, parts: ViewParts, taint: QuarantineTaint): JobView {
  const { metadata } = object;
  const ownerJob = ownerJobOf(parts.kind, metadata);
  const failsWhenDeleted = ownerJob ? recreatedByOwner(ownerJob) : parts.failsWhenDeleted;
  const queue = queueOf(object);
  const progress = progressOf(metadata);
  const { [annotations.restartAsked]: asked, [annotations.restartAnswers]: answers } = metadata?.annotations ?? {};
  const restart = parseRestart(asked, answers);
  const gpus = gpusOf(parts.roles);
  const overrides = overridesOf(metadata);
  return {
    ref: jobRefOf(parts.kind, metadata),
    optedIn: ownerJob === undefined && isOptedIn(metadata, parts.roles),
    optedInAt: optedInAt(metadata),
    ...(parts.finished && { finished: parts.finished }),
    ...(parts.suspended && { suspension: suspensionOf(metadata) }),
    ...(queue !== undefined && { queue }),
    restartPolicy: strictest(parts.roles.map((role) => role.restartPolicy)),
    podsExpected: parts.roles.reduce((sum, { replicas }) => sum + replicas, 0),
    toleratesQuarantine: parts.roles.some((role) => tolerates(role.template, taint)),
    canStopBy: ownerJob ? [] : parts.canStopBy,
    ...(failsWhenDeleted && { failsWhenDeleted }),
    ...(parts.unsafeSuspend && { unsafeSuspend: parts.unsafeSuspend }),
    ...(parts.incomplete && { incomplete: parts.incomplete }),
    ...(overrides && { overrides }),
    ...(parts.succeedsWith && { succeedsWith: parts.succeedsWith }),
    ...(gpus > 0 && { gpus }),
    ...(progress && { progress }),
    ...(restart && { restart }),
    resourceVersion: metadata?.resourceVersion ?? '',
  };
}

const recreatedByOwner = (ownerJob: JobRef): JobView['failsWhenDeleted'] => ({
  because: `${jobTitle(ownerJob)} created it, and would resume or recreate it`,
  remedy: `kcover start ${jobTitle(ownerJob)}`,
});

/** Accelerators that all pods request in total. */
const gpusOf = (roles: readonly JobRole[]): number =>
  roles.reduce((sum, { replicas, template }) => sum + replicas * gpusOfPod(template), 0);

const gpusOfPod = (template: V1PodTemplateSpec | undefined): number =>
  Object.entries(requestsOf(template?.spec)).reduce(
    (sum, [name, amount]) => (isAccelerator(name) ? sum + amount : sum),
    0,
  );

/** The job's label decides; without it, that of any role's pod template. */
function isOptedIn(metadata: V1ObjectMeta | undefined, roles: readonly JobRole[]): boolean {
  const own = metadata?.labels?.[labels.cascadingRecovery];
  if (own !== undefined) return own === 'true';
  return roles.some((role) => role.template?.metadata?.labels?.[labels.cascadingRecovery] === 'true');
}

/**
 * When the label was last set. managedFields only show when an owner of the label last wrote anything, so of several owners the earliest counts:
 * a manager that applies the label unchanged is added as an owner, one that changes it becomes the only owner.
 */
function optedInAt(metadata: V1ObjectMeta | undefined): string {
  const created = timeOrEpoch(metadata?.creationTimestamp);
  if (metadata?.labels?.[labels.cascadingRecovery] === undefined) return created;
  const owned = (metadata.managedFields ?? []).filter(ownsLabel).flatMap((entry) => timeOf(entry.time) ?? []);
  return owned.toSorted()[0] ?? created;
}

function ownsLabel(entry: { readonly fieldsV1?: object }): boolean {
  const fields: { 'f:metadata'?: { 'f:labels'?: Readonly<Record<string, unknown>> } } | undefined = entry.fieldsV1;
  return fields?.['f:metadata']?.['f:labels']?.[`f:${labels.cascadingRecovery}`] !== undefined;
}

/** Value of the annotation on a job that kcover suspended. */
export const suspensionId = (incident: string, attempt: number): string => `${incident}#${attempt}`;

function suspensionOf(metadata: V1ObjectMeta | undefined): Suspension {
  const match = /^(.+)#(\d+)$/.exec(metadata?.annotations?.[annotations.suspendedBy] ?? '');
  const [, incident, attempt] = match ?? [];
  return incident === undefined ? { by: 'owner' } : { by: 'kcover', incident, attempt: Number(attempt) };
}

const strictness = ['Never', 'ExitCode', 'OnFailure', 'Always'] as const satisfies readonly RestartPolicy[];

/** `usual`: the default of the kind's controller, where the object sets no known value. */
export const restartPolicyOf = (text: string | undefined, usual: RestartPolicy): RestartPolicy =>
  strictness.find((policy) => policy === text) ?? usual;

const strictest = (policies: readonly RestartPolicy[]): RestartPolicy =>
  strictness.find((policy) => policies.includes(policy)) ?? 'Never';

/** An `Equal` toleration must match a value from settings; without one the value is the reason, which a template cannot know. */
function tolerates(template: V1PodTemplateSpec | undefined, taint: QuarantineTaint): boolean {
  return (template?.spec?.tolerations ?? []).some((toleration) => {
    if (toleration.effect && toleration.effect !== taint.effect) return false;
    if (toleration.operator === 'Exists') return !toleration.key || toleration.key === taint.key;
    return toleration.key === taint.key && taint.value !== undefined && (toleration.value ?? '') === taint.value;
  });
}

/** The condition that ended the job, as its controller wrote it. */
export function finishedBy(
  conditions: readonly Condition[] | undefined,
  succeeded: string,
  failed: string,
): JobView['finished'] {
  for (const [type, as] of [
    [succeeded, 'succeeded'],
    [failed, 'failed'],
  ] as const) {
    const condition = conditions?.find((each) => each.type === type && each.status === 'True');
    if (condition)
      return { as, because: foreignText([condition.reason, condition.message].filter(Boolean).join(': ')) || type };
  }
  return undefined;
}
