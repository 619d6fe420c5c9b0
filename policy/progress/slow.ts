/** Whether training is slower than it was at its best in this attempt. Pure; times are those of the trainer's own clock. */

import { type Fault, faultLimits, trainingSlow } from '../../contract/faults/faults.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import { foldPace, median, mostReports, paceFrom, type PaceObservations } from './pace.ts';

export interface SlowSettings {
  /** Multiple of the best pace. */
  readonly times: number;
  readonly forMs: number;
}

/** How the pace of one attempt has developed. */
export interface PaceTrend {
  readonly pace: PaceObservations;
  /** Lowest median of a whole window, ms per step. */
  readonly bestMs?: number;
  /** While training takes longer than the limit. */
  readonly slow?: Slowdown;
}

export interface Slowdown {
  /** The first report above the limit. */
  readonly from: JobProgress;
  /** Time of the steps since then, ms: neither other phases nor pauses count. */
  readonly lastedMs: number;
  readonly msPerStep: number;
  readonly bestMs: number;
}

const unknown: PaceTrend = { pace: paceFrom(undefined) };

/** Adds a report. Nothing before a step back counts: a trainer has begun again, or counts in another way. */
export function foldTrend(before: PaceTrend = unknown, progress: JobProgress, settings: SlowSettings): PaceTrend {
  const { last, steps } = before.pace;
  if (last && progress.step < last.step) return foldTrend(unknown, progress, settings);
  const pace = foldPace(before.pace, progress);
  // The same list: no step was measured.
  const isMeasured = pace.steps !== steps && pace.steps.length === mostReports;
  const msPerStep = median(pace.steps);
  if (!last || !isMeasured || msPerStep === undefined) return { ...before, pace };
  const bestMs = Math.min(before.bestMs ?? Infinity, msPerStep);
  if (msPerStep <= bestMs * limit(before, settings)) return { pace, bestMs };
  const { from = progress, lastedMs = 0 } = before.slow ?? {};
  // Of a pause only the steps count.
  const tookMs = Math.min(pace.steps.at(-1) ?? 0, msPerStep) * (progress.step - last.step);
  return { pace, bestMs, slow: { from, lastedMs: lastedMs + tookMs, msPerStep, bestMs } };
}

/** A slowdown ends at half of the excess: a pace that varies around the limit is one slowdown. */
const limit = (trend: PaceTrend, settings: SlowSettings): number =>
  slowdownOf(trend, settings) ? (1 + settings.times) / 2 : settings.times;

/** Undefined before it has lasted. */
export const slowdownOf = ({ slow }: PaceTrend, { forMs }: SlowSettings): Slowdown | undefined =>
  slow && slow.lastedMs >= forMs ? slow : undefined;

/** What is known of a slowdown when it is reported. `seenAt`: RFC 3339. */
export interface SlowReport extends Slowdown {
  readonly pod: string;
  readonly seenAt: string;
  /** What else says which rank is slow. */
  readonly found: Pick<Fault, 'witnesses' | 'suspects'>;
}

/**
 * The same fault for the whole slowdown. It blames no node: in synchronous training all ranks take as long as the slowest, and a suspect is one
 * only for a preflight.
 */
export function slowFault({ uid }: JobRef, report: SlowReport): Fault {
  const { pod, from, lastedMs, msPerStep, bestMs, seenAt, found } = report;
  const suspected = (found.suspects ?? []).map((each) => `suspected: ${each.pod} on ${each.node}`);
  const times = (msPerStep / bestMs).toFixed(1);
  const what = `half of the last steps took at least ${duration(msPerStep)}, ${times} times the ${duration(bestMs)} at best in this attempt, for ${formatDuration(lastedMs)} since step ${from.step}`;
  return {
    id: `slow/${uid}/${pod}/${from.step}/${from.at}`,
    source: 'progress',
    code: trainingSlow,
    message: [what, ...(found.witnesses ?? []), ...suspected].join('; ').slice(0, faultLimits.message),
    seenAt,
    job: uid,
    ...found,
  };
}

const duration = (ms: number): string => formatDuration(Number(ms.toPrecision(3)));
