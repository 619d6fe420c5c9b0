/** Whether training moves on after a restart. */

import { formatDuration } from '../contract/duration.ts';
import type { JobProgress } from '../contract/progress.ts';
import type { VerifyRequest } from '../contract/verification.ts';
import { isResting, median } from './pace.ts';

/** What was seen of the new attempt. Times of ours are milliseconds since the epoch. */
export interface ProgressSeen {
  readonly first: JobProgress;
  readonly last: JobProgress;
  /** When its last new step was seen, or another phase, our clock. */
  readonly movedAt: number;
  /** Milliseconds per step between reports, by their own clock, oldest first; at most 20. */
  readonly pace: readonly number[];
}

/** What `judgeProgress` decides from. */
export interface ProgressFacts {
  readonly request: Pick<VerifyRequest, 'since' | 'beyond' | 'firstMs' | 'stallMs' | 'mostMs'>;
  /** What the job says now, of whatever attempt. */
  readonly progress?: JobProgress | undefined;
  /** What was seen of the new attempt, `progress` included. */
  readonly seen?: ProgressSeen | undefined;
  /** When the wait began, ms. */
  readonly startedAt: number;
  /** Nothing is late before, ms: set after times in which nobody could see. */
  readonly lateFrom: number;
}

export type ProgressDecision =
  | { readonly kind: 'verified'; readonly because: string }
  /** `moves`: it made steps, and only needs longer to get back to where it was. */
  | { readonly kind: 'unverified'; readonly because: string; readonly moves?: true }
  /** Judge again then, ms, if nothing is seen before. */
  | { readonly kind: 'wait'; readonly until: number };

/** Of a job that steps slowly: so many times its own pace is a stall. */
const paces = 10;
const mostPaces = 20;
/** A trainer that says that it does something else than to train is believed for so many stalls. */
const restingStalls = 10;

/** Pods are created in whole seconds, rounded down, ms. */
const creationMs = 1000;

/** What is of the new attempt. */
type AttemptStart = Pick<VerifyRequest, 'since' | 'stopped'>;

/** Adds what the job says now. A step of an earlier attempt adds nothing; one that runs backwards is a new step, but says nothing of the pace. */
export function seeProgress(seen: ProgressSeen | undefined, progress: JobProgress | undefined, attempt: AttemptStart, now: number): ProgressSeen | undefined {
  if (!progress || !isOf(attempt, progress)) return seen;
  if (!seen) return { first: progress, last: progress, movedAt: now, pace: [] };
  const steps = progress.step - seen.last.step;
  if (steps === 0) return progress.phase === seen.last.phase ? seen : { ...seen, last: { ...progress, at: seen.last.at }, movedAt: now };
  const took = Date.parse(progress.at) - Date.parse(seen.last.at);
  const pace = steps > 0 && took >= 0 ? [...seen.pace, took / steps].slice(-mostPaces) : seen.pace;
  return { first: seen.first, last: progress, movedAt: now, pace };
}

/**
 * Nothing that a stopped pod tells, however late. As whoever patched the job may not say whose step it is, the whole second of `since` does not
 * count either: the old attempt may have made its last step in it. A clock that is behind only makes the proof later.
 */
const isOf = ({ since, stopped = [] }: AttemptStart, { at, pod }: JobProgress): boolean =>
  Date.parse(at) >= Date.parse(since) + creationMs && (pod === undefined || !stopped.includes(pod));

/**
 * Verified as soon as the new attempt has made a step, and is beyond the last one before the stop: the first report may only say what was loaded.
 * Given up when none comes, none follows, or it takes too long.
 */
export function judgeProgress(facts: ProgressFacts, now: number): ProgressDecision {
  const { request, seen } = facts;
  if (seen && seen.pace.length > 0 && seen.last.step > request.beyond)
    return { kind: 'verified', because: `step ${seen.last.step} is beyond ${request.beyond}, the last before the fault` };
  const { until, because, moves } = giveUp(facts);
  const late = Math.max(until, facts.lateFrom);
  return now < late ? { kind: 'wait', until: late } : { kind: 'unverified', because, ...(moves === true && { moves }) };
}

/** Which deadline comes first, and what is to be said then. */
function giveUp({ request, progress, seen, startedAt }: ProgressFacts): { readonly until: number; readonly because: string; readonly moves?: boolean } {
  const { beyond, firstMs, mostMs, stallMs } = request;
  if (!seen) {
    const ms = Math.min(firstMs, mostMs);
    return { until: startedAt + ms, because: `no progress was reported within ${formatDuration(ms)} after all pods ran${ignored(progress)}` };
  }
  const { first, last, movedAt, pace } = seen;
  const most = {
    until: startedAt + mostMs,
    moves: pace.length > 0,
    because: `step ${last.step} of ${beyond} after ${formatDuration(mostMs)}${from(first, last)}`,
  };
  const limit = Math.max((isResting(last.phase) ? restingStalls : 1) * stallMs, paces * (median(pace) ?? 0));
  const stall = { until: movedAt + limit, because: `no step for ${formatDuration(limit)} after step ${last.step} of ${beyond}${from(first, last)}` };
  return stall.until < most.until ? stall : most;
}

const from = (first: JobProgress, last: JobProgress): string => (first.step === last.step ? '' : `, from step ${first.step}`);

const ignored = (progress: JobProgress | undefined): string =>
  progress ? `; step ${progress.step} of ${progress.at} is of an earlier attempt and does not count` : '';
