/** What comes before and after a stop, decided with it: who is asked, what is saved, whether there is room, and what is restarted. */

import type { CapacityChoice, RestartLevel } from './job-overrides.ts';
import type { JobRef } from './jobs.ts';
import type { Outcome } from './outcomes.ts';

/** How much of the training is left: it no longer runs, it runs and may end any moment, it runs and is slow. */
export const severities = ['dead', 'degrading', 'slow'] as const;
export type Severity = (typeof severities)[number];

/** Every part says why. All of it is recorded, also where the mode is `observe` and nothing of it is done. */
export interface RecoveryPlan {
  readonly severity: Severity;
  readonly level: RecoveryLevel;
  /** Pods get no time to end. */
  readonly force?: true;
  /** A person is asked first. */
  readonly approval?: Approval;
  readonly checkpoint: CheckpointPlan;
  /** Missing where nobody looks for room. */
  readonly capacity?: CapacityPlan;
  /** What the pods of the next attempt are given, so that they come before others. */
  readonly priorityClass?: string;
  /** Wishes of the job that do not count, a sentence each. */
  readonly ignored: readonly string[];
}

/** `pods`: UIDs of the broken ones. `withinMs`: for all pods to run again, or training to go on, before the next level is tried. */
export type RecoveryLevel =
  | { readonly name: Extract<RestartLevel, 'job'>; readonly because: string }
  | { readonly name: Extract<RestartLevel, 'pod'>; readonly pods: readonly string[]; readonly withinMs: number; readonly because: string };

export interface Approval {
  readonly because: string;
  readonly withinMs: number;
  /** What silence means. */
  readonly otherwise: 'approve' | 'deny';
}

/** What a person is asked now. */
export interface Question {
  /** What is asked, and when that was decided: `stop@2026-11-21T07:09:03.117Z`. Asked once more after it was dropped, it has another. */
  readonly id: string;
  readonly because: string;
  /** RFC 3339: silence is an answer from then on. */
  readonly until: string;
  readonly otherwise: Approval['otherwise'];
}

export type CheckpointPlan =
  | { readonly strategy: 'none'; readonly because: string; readonly timing?: StopTiming }
  /** The job goes on until a checkpoint of a later step than `beyond` is there, for `withinMs` at most. `stallMs`: without a step for so long it no longer runs. */
  | {
      readonly strategy: 'fresh';
      readonly beyond: number;
      readonly withinMs: number;
      readonly stallMs: number;
      readonly because: string;
      readonly timing: StopTiming;
    }
  /** Awaited between the stop and the next attempt: a checkpoint of `atLeast`, the step at which the stop began. */
  | { readonly strategy: 'on-termination'; readonly atLeast: number; readonly withinMs: number; readonly because: string; readonly timing?: StopTiming };

/** What either choice is expected to lose, GPU-hours. */
export interface StopTiming {
  readonly now: number;
  readonly afterCheckpoint: number;
  /** Until the next checkpoint, as the last ones were apart, ms. */
  readonly nextInMs: number;
}

export interface CapacityPlan {
  readonly choice: CapacityChoice;
  /** Pods that a smaller attempt must have at least. */
  readonly least: number;
  /** Sizes that are allowed, the largest first; missing: all; empty: none but the present one. */
  readonly allowedSizes?: readonly number[];
}

/** Request to wait for a checkpoint. */
export interface CheckpointRequest {
  readonly incident: string;
  readonly job: JobRef;
  /** A checkpoint of this step or a later one. */
  readonly atLeast: number;
  readonly withinMs: number;
  /** Without a step for so long nobody will save any more, ms; missing after the stop. */
  readonly stallMs?: number;
}

export type CheckpointResult =
  | { readonly kind: 'saved'; readonly checkpointStep: number; readonly waitedMs: number; readonly because: string }
  | { readonly kind: 'missed'; readonly waitedMs: number; readonly because: string }
  | { readonly kind: 'ended'; readonly outcome: Outcome; readonly because: string };

/** Whether all pods of an attempt find room at once, if none of the present ones were there. */
export interface CapacityFacts {
  /** Pods that need room. */
  readonly needed: number;
  /** Of those, how many find it on nodes that take new pods. */
  readonly fit: number;
  /** The same with stand-by nodes, and which of them it takes. */
  readonly fitWithStandby: number;
  readonly standbyNodes: readonly string[];
  /** What keeps pods off the other nodes, the commonest first: `3 nodes: taint maintenance=true`. */
  readonly because: string;
  /** Sizes of the whole job that its kind could be given; missing where it cannot be resized. */
  readonly sizes?: { readonly now: number; readonly least: number };
}

/** What is done about it. */
export type CapacityDecision = { readonly because: string; readonly settings: string; readonly at: number } & (
  | { readonly kind: 'go' }
  | { readonly kind: 'standby'; readonly nodes: readonly string[] }
  /** Pods of the whole job after the restart. */
  | { readonly kind: 'shrink'; readonly pods: number }
  | { readonly kind: 'hold'; readonly remedy: string; readonly lookAgainMs: number }
  | ({ readonly kind: 'ask' } & Approval)
);

/** What the job is to be like in its next attempt; while it is suspended by us only. */
export interface ResizeRequest {
  readonly incident: string;
  readonly job: JobRef;
  /** Pods of the whole job. */
  readonly pods?: number;
  readonly priorityClass?: string;
}
export type ResizeResult =
  /** `ignored`: why it was given another size only, and not the priority that was asked for. */
  | { readonly kind: 'resized'; readonly before: number; readonly after: number; readonly ignored?: string }
  | { readonly kind: 'refused'; readonly because: string };

/** A person's answer, or what silence means. */
export interface OperatorAnswer {
  /** Id of what was answered. Missing in incidents of versions whose questions had none. */
  readonly question?: string;
  readonly approved: boolean;
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}
