/** Whether training stands still although everything runs. Pure; all times are milliseconds of one clock, the controller's own. */

import { formatDuration } from '../contract/duration.ts';
import { type Fault, trainingHangs } from '../contract/faults.ts';
import type { JobRef } from '../contract/jobs.ts';
import type { JobProgress, Pace } from '../contract/progress.ts';
import { isResting } from './pace.ts';

export interface HangSettings {
  /** Of the median step. */
  readonly times: number;
  readonly leastMs: number;
}

/** What was seen of a job that has told a step in this attempt. */
export interface Standstill {
  readonly progress: JobProgress;
  /** When its last new step arrived. Whoever begins to lead hears every step as a new one: nobody is judged by what was before. */
  readonly movedAt: number;
  /** When it was last heard to change between training and something else, since then. */
  readonly turnedAt?: number;
  /** When its silence last meant nothing: its pods did not all run, or the agent could not be heard. */
  readonly excusedAt?: number;
}

export type HangDecision = { readonly kind: 'hangs' | 'waits'; readonly because: string };

/** No phase may last longer than so many times the least; nor may steps of which nobody knows how long they take. */
const longest = 10;

/**
 * No step for so many times the median step, and never before the least time. That the trainer checkpoints, evaluates or compiles is an excuse
 * for ten times the least, and what follows has its whole time again.
 */
export function judgeHang(seen: Standstill, { times, leastMs }: HangSettings, now: number): HangDecision {
  const { progress, movedAt, turnedAt = movedAt, excusedAt = movedAt } = seen;
  const { step, phase, pace } = progress;
  const limit = pace ? Math.max(times * pace.msPerStep, leastMs) : longest * leastMs;
  const from = Math.max(movedAt, excusedAt);
  const excuse = from + longest * leastMs;
  const until = isResting(phase) ? Math.max(excuse, from + limit) : Math.max(from, Math.min(turnedAt, excuse)) + limit;
  const doing = isResting(phase) ? `; it says that it is ${phase}` : '';
  return { kind: now < until ? 'waits' : 'hangs', because: `no step for ${formatDuration(now - movedAt)} after step ${step}${known(pace)}${doing}` };
}

const known = (pace: Pace | undefined): string => (pace ? `; half of its steps take no more than ${formatDuration(pace.msPerStep)}` : '');

/** One for each standstill, whoever leads: its id is that of the pod, the step, and when the trainer did it. `seenAt`: RFC 3339. */
export const hangFault = ({ uid }: JobRef, pod: string, { step, at }: JobProgress, because: string, seenAt: string): Fault => ({
  id: `hang/${uid}/${pod}/${step}/${at}`,
  source: 'progress',
  code: trainingHangs,
  message: because,
  seenAt,
  job: uid,
});
