/** Proof that a recovery has brought training back: its steps go on beyond the last one before the fault. */

import type { JobRef, StopMethod } from './jobs.ts';
import type { Outcome } from './outcomes.ts';
import type { JobProgress } from './progress.ts';

/** Request to see that training moves on after a restart. */
export interface VerifyRequest {
  readonly incident: string;
  readonly job: JobRef;
  /** RFC 3339: only progress after it is of the new attempt. */
  readonly since: string;
  /** UIDs of pods that were stopped: what they tell is of an earlier attempt, whenever it was told. */
  readonly stopped?: readonly string[];
  /** How they were stopped. */
  readonly stoppedBy?: StopMethod | 'pods';
  /** The last step that was seen before the stop: it must be passed. */
  readonly beyond: number;
  /** Until the first progress, ms. */
  readonly firstMs: number;
  /** Without a step from then on, ms; a job that steps more slowly gets ten times its own pace. */
  readonly stallMs: number;
  /** Altogether, ms. */
  readonly mostMs: number;
}

export type VerifyResult =
  | { readonly kind: 'verified'; readonly progress: JobProgress; readonly because: string }
  /** `moves`: steps are made, and the last one before the stop is not passed yet. */
  | { readonly kind: 'unverified'; readonly progress?: JobProgress; readonly because: string; readonly moves?: true }
  | { readonly kind: 'ended'; readonly outcome: Outcome; readonly because: string };
