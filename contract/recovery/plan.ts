/** What is decided together with a stop: approval, checkpoint, capacity and restart level. */

import type { WaveRule } from '../cluster.ts';
import type { CapacityChoice, RestartLevel } from '../job/job-overrides.ts';
import type { JobRef } from '../job/jobs.ts';
import type { AskedRestart } from '../progress/restart.ts';
import type { Outcome } from './outcomes.ts';

/** State of the training: no longer running, running but likely to fail soon, running slowly. */
export const severities = ['dead', 'degrading', 'slow'] as const;
export type Severity = (typeof severities)[number];

/** Every part gives its reason. The plan is recorded also in mode `observe`, where none of it is done. */
export interface RecoveryPlan {
  readonly severity: Severity;
  readonly level: RecoveryLevel;
  /** Pods get no grace period. */
  readonly force?: true;
  /** A person is asked first. */
  readonly approval?: Approval;
  readonly checkpoint: CheckpointPlan;
  /** Missing where capacity is not checked. */
  readonly capacity?: CapacityPlan;
  /** Where several nodes have one cause: the recovery begins in a wave of those that are caused by it. */
  readonly wave?: WavePlan;
  /** Priority class for the pods of the next attempt. */
  readonly priorityClass?: string;
  /** Overrides of the job that are not applied, a sentence each. */
  readonly ignored: readonly string[];
}

/** `pods`: UIDs of the broken ones. `withinMs`: how long until all pods run again, or training continues, before the next level is tried. */
export type RecoveryLevel =
  | { readonly name: Extract<RestartLevel, 'job'>; readonly because: string }
  | {
      readonly name: Extract<RestartLevel, 'pod'>;
      readonly pods: readonly string[];
      readonly withinMs: number;
      readonly because: string;
    };

export interface Approval {
  readonly because: string;
  readonly withinMs: number;
  /** What applies without an answer. */
  readonly otherwise: 'approve' | 'deny';
}

/** What a person is asked now. */
export interface Question {
  /** The action and when it was decided: `stop@2026-11-21T07:09:03.117Z`. A question that is dropped and asked again gets a new id. */
  readonly id: string;
  readonly because: string;
  /** RFC 3339: `otherwise` applies from then on. */
  readonly until: string;
  readonly otherwise: Approval['otherwise'];
}

export type CheckpointPlan =
  | { readonly strategy: 'none'; readonly because: string; readonly timing?: StopTiming }
  /** The job runs on until a checkpoint of a later step than `beyond` exists, for `withinMs` at most. `stallMs`: after so long without a step it counts as no longer running. */
  | {
      readonly strategy: 'fresh';
      readonly beyond: number;
      readonly withinMs: number;
      readonly stallMs: number;
      readonly because: string;
      readonly timing: StopTiming;
    }
  /** Awaited between the stop and the next attempt: a checkpoint of `atLeast`, the step at which the stop began. */
  | {
      readonly strategy: 'on-termination';
      readonly atLeast: number;
      readonly withinMs: number;
      readonly because: string;
      readonly timing?: StopTiming;
    };

/** Expected loss of either choice, GPU-hours. */
export interface StopTiming {
  readonly now: number;
  readonly afterCheckpoint: number;
  /** Expected time until the next checkpoint, from the interval of the last ones, ms. */
  readonly nextInMs: number;
}

export interface CapacityPlan {
  readonly choice: CapacityChoice;
  /** Pods that a smaller attempt must have at least. */
  readonly least: number;
  /** Allowed sizes, largest first; missing: all; empty: only the present one. */
  readonly allowedSizes?: readonly number[];
}

export interface WavePlan {
  readonly rule: WaveRule;
  /** Longest wait: after that the recovery begins outside of the waves. */
  readonly withinMs: number;
  readonly because: string;
}

/** Request to ask the processes of a job to restart training in place. */
export interface AskRequest extends Pick<AskedRestart, 'reason' | 'askedAt' | 'deadline'> {
  readonly incident: string;
  readonly job: JobRef;
  readonly attempt: number;
}

/** Request to wait for a checkpoint. */
export interface CheckpointRequest {
  readonly incident: string;
  readonly job: JobRef;
  /** A checkpoint of this step or a later one. */
  readonly atLeast: number;
  readonly withinMs: number;
  /** After so long without a step no checkpoint is expected any more, ms; missing after the stop. */
  readonly stallMs?: number;
}

export type CheckpointResult =
  | { readonly kind: 'saved'; readonly checkpointStep: number; readonly waitedMs: number; readonly because: string }
  | { readonly kind: 'missed'; readonly waitedMs: number; readonly because: string }
  | { readonly kind: 'ended'; readonly outcome: Outcome; readonly because: string };

/** Whether all pods of an attempt fit at once, assuming that its present pods are gone. */
export interface CapacityFacts {
  /** Pods to be placed. */
  readonly needed: number;
  /** How many of them fit on schedulable nodes. */
  readonly fit: number;
  /** The same with standby nodes, and which of those are needed. */
  readonly fitWithStandby: number;
  readonly standbyNodes: readonly string[];
  /** What keeps pods off the other nodes, most frequent first: `3 nodes: taint maintenance=true`. */
  readonly because: string;
  /** Present and smallest possible size of the whole job; missing where it cannot be resized. */
  readonly sizes?: { readonly now: number; readonly least: number };
}

/** What to do about the capacity found. */
export type CapacityDecision = { readonly because: string; readonly settings: string; readonly at: number } & (
  | { readonly kind: 'go' }
  | { readonly kind: 'standby'; readonly nodes: readonly string[] }
  /** Pods of the whole job after the restart. */
  | { readonly kind: 'shrink'; readonly pods: number }
  | { readonly kind: 'hold'; readonly remedy: string; readonly lookAgainMs: number }
  | ({ readonly kind: 'ask' } & Approval)
);

/** Size and priority of the job in its next attempt; only while kcover has it suspended. */
export interface ResizeRequest {
  readonly incident: string;
  readonly job: JobRef;
  /** Pods of the whole job. */
  readonly pods?: number;
  readonly priorityClass?: string;
}
export type ResizeResult =
  /** `ignored`: why the requested priority was not set, only the size. */
  | { readonly kind: 'resized'; readonly before: number; readonly after: number; readonly ignored?: string }
  | { readonly kind: 'refused'; readonly because: string };

/** An operator's answer, or the default after the deadline. */
export interface OperatorAnswer {
  /** Id of the question that was answered. */
  readonly question?: string;
  readonly approved: boolean;
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}
