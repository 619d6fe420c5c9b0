/** Keeps the pods of a record below what Temporal takes in one payload: whole lists as long as there is room, then the first and how many there were. */

import type { AttemptPod } from '../contract/jobs.ts';
import type { RecoveryDecision } from '../contract/recovery.ts';

/** A payload may have 2 MiB; faults, decisions and the timeline of a record need the rest. */
const mostBytes = 900_000;

/** Of a list that does not fit. */
const mostOfMany = 50;

export interface TrimmedPods {
  readonly pods: readonly AttemptPod[];
  /** How many there were, where not all are kept. */
  readonly of?: number;
}

/** `earlier`: how many there were when `pods` was cut before. */
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

/** A plan names the pods that it would restart by UID, in every decision anew. */
export function withoutManyPods(decision: RecoveryDecision): RecoveryDecision {
  if (decision.kind !== 'stop' || decision.plan?.level.name !== 'pod' || decision.plan.level.pods.length <= mostOfMany) return decision;
  const { level } = decision.plan;
  return { ...decision, plan: { ...decision.plan, level: { ...level, pods: level.pods.slice(0, mostOfMany) } } };
}
