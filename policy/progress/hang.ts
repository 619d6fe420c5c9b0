/** Whether training hangs although all pods run. Pure; all times are milliseconds of one clock, the controller's own. */

import { formatDuration } from '../../contract/settings/duration.ts';
import { type Fault, trainingHangs } from '../../contract/faults/faults.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { JobProgress, Pace } from '../../contract/progress/progress.ts';
import { isResting } from './pace.ts';

export interface HangSettings {
  /** Multiple of the median step. */
  readonly times: number;
  readonly leastMs: number;
}

/** What was observed of a job that has reported a step in this attempt. */
export interface Standstill {
  readonly progress: JobProgress;
  /** When its last new step arrived. A new leader takes the first report of every job for a new step, so time before its term does not count. */
  readonly movedAt: number;
  /** When it last reported a change between training and another phase, since then. */
  readonly turnedAt?: number;
  /** When a missing step was last excused: not all of its pods ran, or its agent was silent. */
  readonly excusedAt?: number;
}

export type HangDecision = { readonly kind: 'hangs' | 'waits'; readonly because: string };

/** Limit for another phase than training, and for steps of unknown duration, as a multiple of the least time. */
const longest = 10;

/**
 * Hangs after so many times the median step without a step, and never before the least time. A trainer that checkpoints, evaluates or compiles
 * is excused for ten times the least time; the time limit starts again after that.
 */
export function judgeHang(seen: Standstill, { times, leastMs }: HangSettings, now: number): HangDecision {
  const { progress, movedAt, turnedAt = movedAt, excusedAt = movedAt } = seen;
  const { step, phase, pace } = progress;
  const limit = pace ? Math.max(times * pace.msPerStep, leastMs) : longest * leastMs;
  const from = Math.max(movedAt, excusedAt);
  const excuse = from + longest * leastMs;
  const until = isResting(phase) ? Math.max(excuse, from + limit) : Math.max(from, Math.min(turnedAt, excuse)) + limit;
  const doing = isResting(phase) ? `; it says that it is ${phase}` : '';
  return {
    kind: now < until ? 'waits' : 'hangs',
    because: `no step for ${formatDuration(now - movedAt)} after step ${step}${known(pace)}${doing}`,
  };
}

const known = (pace: Pace | undefined): string =>
  pace ? `; half of its steps take no more than ${formatDuration(pace.msPerStep)}` : '';

/** The same fault for one hang on every leader: its id is made of pod, step, and the time of the step. `seenAt`: RFC 3339. */
export const hangFault = (
  { uid }: JobRef,
  pod: string,
  { step, at }: JobProgress,
  because: string,
  seenAt: string,
): Fault => ({
  id: `hang/${uid}/${pod}/${step}/${at}`,
  source: 'progress',
  code: trainingHangs,
  message: because,
  seenAt,
  job: uid,
});
