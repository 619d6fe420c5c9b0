/** Pods of jobs that may report how far training is: which rank, where, and since when. Pure. */

import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import type { JobRef } from '../contract/jobs.ts';
import { type PodPlace, memberOf } from './pod-ranks.ts';
import { timeOf } from './time.ts';

export interface TrainingPod {
  readonly uid: string;
  readonly job: JobRef;
  /** As the name of a progress file has it. */
  readonly workload: string;
  readonly place: PodPlace;
  readonly node: string;
  /** RFC 3339, whole seconds, the node's clock: when the first of its containers began, of those that run or ran last. Absent before. */
  readonly startedAt?: string;
  /** Whether it belongs to the present attempt: nobody has asked it to go, and it has not ended. */
  readonly present: boolean;
  /** Its containers have ended for good. */
  readonly ended?: true;
}

/** Undefined for a pod that is on no node, is of no job, or has no rank. */
export function trainingPodOf(pod: V1Pod): TrainingPod | undefined {
  const member = memberOf(pod);
  const node = pod.spec?.nodeName;
  if (!member?.place || !member.workload.job || !node) return undefined;
  const { metadata, status } = pod;
  const ended = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const startedAt = (status?.containerStatuses ?? []).flatMap((container) => startOf(container) ?? []).toSorted()[0];
  return {
    uid: metadata?.uid ?? '',
    job: member.workload.job,
    workload: member.workload.name,
    place: member.place,
    node,
    ...(startedAt !== undefined && { startedAt }),
    present: !ended && metadata?.deletionTimestamp === undefined,
    ...(ended && { ended }),
  };
}

/** Whether it works: nobody has asked it to go, and none of its containers waits to be started. */
export function isWorking({ metadata, status }: V1Pod): boolean {
  const states = (status?.containerStatuses ?? []).map(({ state }) => state);
  const runs = states.some((state) => state?.running) && !states.some((state) => state?.waiting);
  return runs && status?.phase === 'Running' && metadata?.deletionTimestamp === undefined;
}

/** What could not be started has no beginning, or one in 1970. */
function startOf({ state, lastState }: V1ContainerStatus): string | undefined {
  const from = timeOf(state?.running?.startedAt ?? state?.terminated?.startedAt ?? lastState?.terminated?.startedAt);
  return from === undefined || Date.parse(from) === 0 ? undefined : from;
}
