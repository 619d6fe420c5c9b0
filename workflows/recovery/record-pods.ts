/** Keeps the pods of a record below the size limit of a Temporal payload: whole lists while they fit, then the first pods and their number. */

import type { AttemptPod } from '../../contract/job/jobs.ts';
import type { RecoveryDecision } from '../../contract/recovery/recovery.ts';

/** A payload may have 2 MiB; faults, decisions and the timeline of a record need the rest. */
const mostBytes = 900_000;

/** Pods kept of a list that does not fit. */
const mostOfMany = 50;

export interface TrimmedPods {
  readonly pods: readonly AttemptPod[];
  /** Number of all pods, where not all are kept. */
  readonly of?: number;
}

/** `earlier`: the number of pods before `pods` was cut a first time. */
export type TrimPods = (pods: readonly AttemptPod[], earlier?: number) => TrimmedPods;

export function podTrimmer(): TrimPods {
  let left = mostBytes;
  return (pods, earlier) => {
    const bytes = bytesOf(pods);
    const kept = bytes <= left ? pods : pods.slice(0, mostOfMany);
    left -= bytes <= left ? bytes : 0;
    const of = Math.max(pods.length, earlier ?? 0);
    return { pods: kept, ...(kept.length < of && { of }) };
  };
}

const encoder = new TextEncoder();
const bytesOf = (pods: readonly AttemptPod[]): number => encoder.encode(JSON.stringify(pods)).length;

/** Every decision repeats its plan, which names the pods to restart by UID: long lists are cut. */
export function withoutManyPods(decision: RecoveryDecision): RecoveryDecision {
  if (decision.kind !== 'stop' || decision.plan?.level.name !== 'pod' || decision.plan.level.pods.length <= mostOfMany)
    return decision;
  const { level } = decision.plan;
  return { ...decision, plan: { ...decision.plan, level: { ...level, pods: level.pods.slice(0, mostOfMany) } } };
}
