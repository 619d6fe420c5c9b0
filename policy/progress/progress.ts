/** Whether training continues after a restart. */

import { formatDuration } from '../../contract/settings/duration.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { VerifyRequest } from '../../contract/recovery/verification.ts';
import { isResting, median } from './pace.ts';

/** Progress of the new attempt so far. Our times are milliseconds since the epoch. */
export interface ProgressObservations {
  readonly first: JobProgress;
  readonly last: JobProgress;
  /** When its last new step, or another phase, was observed, our clock. */
  readonly movedAt: number;
  /** Milliseconds per step between reports, by their own clock, oldest first; at most 20. */
  readonly pace: readonly number[];
}

/** What `judgeProgress` decides from. */
export interface ProgressFacts {
  readonly request: Pick<VerifyRequest, 'since' | 'beyond' | 'firstMs' | 'stallMs' | 'mostMs'>;
  /** The job's present progress, of any attempt. */
  readonly progress?: JobProgress | undefined;
  /** Progress of the new attempt so far, including `progress`. */
  readonly seen?: ProgressObservations | undefined;
  /** When the wait began, ms. */
  readonly startedAt: number;
  /** No deadline passes before this time, ms: set after the cluster could not be observed. */
  readonly lateFrom: number;
}

export type ProgressDecision =
  | { readonly kind: 'verified'; readonly because: string }
  /** `moves`: it made steps, and only needs longer to reach the last step before the stop. */
  | { readonly kind: 'unverified'; readonly because: string; readonly moves?: true }
  /** Decide again at this time, ms, if nothing changes before. */
  | { readonly kind: 'wait'; readonly until: number };

/** Stall limit of a slow job, as a multiple of its own pace. */
const paces = 10;
const mostPaces = 20;
/** Stall limit in another phase than training, as a multiple. */
const restingStalls = 10;

/** Resolution of pod creation times, which are rounded down, ms. */
const creationMs = 1000;

/** What identifies progress of the new attempt. */
type AttemptStart = Pick<VerifyRequest, 'since' | 'stopped'>;

/** Adds the present progress. A step of an earlier attempt is ignored; a step that runs backwards counts as new, but not for the pace. */
export function foldProgress(
  seen: ProgressObservations | undefined,
  progress: JobProgress | undefined,
  attempt: AttemptStart,
  now: number,
): ProgressObservations | undefined {
  if (!progress || !isOf(attempt, progress)) return seen;
  if (!seen) return { first: progress, last: progress, movedAt: now, pace: [] };
  const steps = progress.step - seen.last.step;
  if (steps === 0)
    return progress.phase === seen.last.phase
      ? seen
      : { ...seen, last: { ...progress, at: seen.last.at }, movedAt: now };
  const took = Date.parse(progress.at) - Date.parse(seen.last.at);
  const pace = steps > 0 && took >= 0 ? [...seen.pace, took / steps].slice(-mostPaces) : seen.pace;
  return { first: seen.first, last: progress, movedAt: now, pace };
}

/**
 * Reports of stopped pods never count. The annotation may lack the pod, so the whole second of `since` does not count either: the old attempt
 * may have made its last step in it. A clock that is behind only delays the verification.
 */
const isOf = ({ since, stopped = [] }: AttemptStart, { at, pod }: JobProgress): boolean =>
  Date.parse(at) >= Date.parse(since) + creationMs && (pod === undefined || !stopped.includes(pod));

/**
 * Verified as soon as the new attempt has made a step and is beyond the last one before the stop: the first report may only be the loaded step.
 * Given up when no report comes, no step follows, or it takes too long.
 */
export function judgeProgress(facts: ProgressFacts, now: number): ProgressDecision {
  const { request, seen } = facts;
  if (seen && seen.pace.length > 0 && seen.last.step > request.beyond)
    return {
      kind: 'verified',
      because: `step ${seen.last.step} is beyond ${request.beyond}, the last before the fault`,
    };
  const { until, because, moves } = giveUp(facts);
  const late = Math.max(until, facts.lateFrom);
  return now < late ? { kind: 'wait', until: late } : { kind: 'unverified', because, ...(moves === true && { moves }) };
}

/** The earliest deadline, and its reason. */
function giveUp({ request, progress, seen, startedAt }: ProgressFacts): {
  readonly until: number;
  readonly because: string;
  readonly moves?: boolean;
} {
  const { beyond, firstMs, mostMs, stallMs } = request;
  if (!seen) {
    const ms = Math.min(firstMs, mostMs);
    return {
      until: startedAt + ms,
      because: `no progress was reported within ${formatDuration(ms)} after all pods ran${ignored(progress)}`,
    };
  }
  const { first, last, movedAt, pace } = seen;
  const most = {
    until: startedAt + mostMs,
    moves: pace.length > 0,
    because: `step ${last.step} of ${beyond} after ${formatDuration(mostMs)}${from(first, last)}`,
  };
  const limit = Math.max((isResting(last.phase) ? restingStalls : 1) * stallMs, paces * (median(pace) ?? 0));
  const stall = {
    until: movedAt + limit,
    because: `no step for ${formatDuration(limit)} after step ${last.step} of ${beyond}${from(first, last)}`,
  };
  return stall.until < most.until ? stall : most;
}

const from = (first: JobProgress, last: JobProgress): string =>
  first.step === last.step ? '' : `, from step ${first.step}`;

const ignored = (progress: JobProgress | undefined): string =>
  progress ? `; step ${progress.step} of ${progress.at} belongs to an earlier attempt and does not count` : '';
