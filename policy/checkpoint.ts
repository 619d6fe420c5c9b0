/** Whether a checkpoint that is waited for is there, may still come, or will not. */

import { formatDuration } from '../contract/duration.ts';
import type { JobProgress } from '../contract/progress.ts';
import type { CheckpointRequest } from '../contract/recovery-plan.ts';
import { isResting } from './pace.ts';

/** What the job last told that was new, and when that was seen: milliseconds since the epoch, our clock. */
export interface LatestProgress {
  readonly progress: JobProgress;
  readonly at: number;
}

/** What `judgeCheckpoint` decides from. Times of ours are milliseconds since the epoch. */
export interface CheckpointFacts {
  readonly request: Pick<CheckpointRequest, 'atLeast' | 'withinMs' | 'stallMs'>;
  /** Missing where the job has told nothing. */
  readonly latest?: LatestProgress | undefined;
  readonly startedAt: number;
  /** Nothing is late before, ms: set after times in which nobody could see. */
  readonly lateFrom: number;
}

export type CheckpointDecision =
  | { readonly kind: 'saved'; readonly checkpointStep: number; readonly because: string }
  | { readonly kind: 'missed'; readonly because: string }
  /** Judge again then, ms, if nothing is seen before. */
  | { readonly kind: 'wait'; readonly until: number };

/** Adds what the job says now: a step, a checkpoint or a phase that is another than before. */
export function latestOf(seen: LatestProgress | undefined, progress: JobProgress | undefined, now: number): LatestProgress | undefined {
  if (!progress) return seen;
  const { step, checkpointStep, phase } = seen?.progress ?? {};
  return seen && progress.step === step && progress.checkpointStep === checkpointStep && progress.phase === phase ? seen : { progress, at: now };
}

/** Saved as soon as the checkpoint is of the step that is asked for. Given up at the deadline; or when the job makes no step and does not say that it does something else. */
export function judgeCheckpoint(facts: CheckpointFacts, now: number): CheckpointDecision {
  const { atLeast } = facts.request;
  const saved = facts.latest?.progress.checkpointStep;
  if (saved !== undefined && saved >= atLeast)
    return { kind: 'saved', checkpointStep: saved, because: `the checkpoint of step ${saved} is there; ${atLeast} was asked for` };
  const { until, because } = giveUp(facts);
  const late = Math.max(until, facts.lateFrom);
  return now < late
    ? { kind: 'wait', until: late }
    : { kind: 'missed', because: `${because}; the last checkpoint is ${saved === undefined ? 'not known' : `of step ${saved}`}` };
}

function giveUp({ request, latest, startedAt }: CheckpointFacts): { readonly until: number; readonly because: string } {
  const { atLeast, withinMs, stallMs } = request;
  const deadline = { until: startedAt + withinMs, because: `no checkpoint of step ${atLeast} or later within ${formatDuration(withinMs)}` };
  if (stallMs === undefined || isResting(latest?.progress.phase)) return deadline;
  const after = latest ? ` after step ${latest.progress.step}` : '';
  const stall = { until: Math.max(startedAt, latest?.at ?? 0) + stallMs, because: `no step for ${formatDuration(stallMs)}${after}: nobody will save any more` };
  return stall.until < deadline.until ? stall : deadline;
}
