/** Verification that a recovery brought training back: it passes the last step before the fault. */

import type { JobRef, StopMethod } from '../job/jobs.ts';
import type { Outcome } from './outcomes.ts';
import type { JobProgress } from '../progress/progress.ts';

/** Request to verify that training continues after a restart. */
export interface VerifyRequest {
  readonly incident: string;
  readonly job: JobRef;
  /** RFC 3339: only progress after it belongs to the new attempt. */
  readonly since: string;
  /** UIDs of stopped pods: their progress belongs to an earlier attempt, whenever it was reported. */
  readonly stopped?: readonly string[];
  /** How they were stopped. */
  readonly stoppedBy?: StopMethod | 'pods';
  /** The last known step before the stop: it must be passed. */
  readonly beyond: number;
  /** Time until the first progress, ms. */
  readonly firstMs: number;
  /** Longest time without a step from then on, ms; a slower job gets ten times its own pace. */
  readonly stallMs: number;
  /** Total, ms. */
  readonly mostMs: number;
  /** Id of the question to the processes: when a rank refuses it, nothing more is awaited. */
  readonly asked?: string;
}

/** `answers`: of the ranks to the question, in words. */
export type VerifyResult =
  | { readonly kind: 'verified'; readonly progress: JobProgress; readonly because: string; readonly answers?: string }
  /** `moves`: training makes steps, but has not passed the last one before the stop. */
  | {
      readonly kind: 'unverified';
      readonly progress?: JobProgress;
      readonly because: string;
      readonly moves?: true;
      readonly answers?: string;
    }
  | { readonly kind: 'ended'; readonly outcome: Outcome; readonly because: string };
