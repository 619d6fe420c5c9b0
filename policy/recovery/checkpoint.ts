/** Whether an awaited checkpoint exists, may still come, or is given up. */

import { formatDuration } from '../../contract/settings/duration.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { CheckpointRequest } from '../../contract/recovery/plan.ts';
import { isResting } from '../progress/pace.ts';

/** The job's last new progress, and when it was observed: milliseconds since the epoch, our clock. */
export interface LatestProgress {
  readonly progress: JobProgress;
  readonly at: number;
}

/** What `judgeCheckpoint` decides from. Our times are milliseconds since the epoch. */
export interface CheckpointFacts {
  readonly request: Pick<CheckpointRequest, 'atLeast' | 'withinMs' | 'stallMs'>;
  /** Missing where the job has reported nothing. */
  readonly latest?: LatestProgress | undefined;
  readonly startedAt: number;
  /** No deadline passes before this time, ms: set after the cluster could not be observed. */
  readonly lateFrom: number;
}

export type CheckpointDecision =
  | { readonly kind: 'saved'; readonly checkpointStep: number; readonly because: string }
  | { readonly kind: 'missed'; readonly because: string }
  /** Decide again at this time, ms, if nothing changes before. */
  | { readonly kind: 'wait'; readonly until: number };

/** Adds the present progress if its step, checkpoint or phase is new. */
export function latestOf(
  seen: LatestProgress | undefined,
  progress: JobProgress | undefined,
  now: number,
): LatestProgress | undefined {
  if (!progress) return seen;
  const { step, checkpointStep, phase } = seen?.progress ?? {};
  return seen && progress.step === step && progress.checkpointStep === checkpointStep && progress.phase === phase
    ? seen
    : { progress, at: now };
}

/** Saved as soon as the checkpoint has the requested step or a later one. Given up at the deadline, or when the job makes no step and reports no other phase. */
export function judgeCheckpoint(facts: CheckpointFacts, now: number): CheckpointDecision {
  const { atLeast } = facts.request;
  const saved = facts.latest?.progress.checkpointStep;
  if (saved !== undefined && saved >= atLeast)
    return {
      kind: 'saved',
      checkpointStep: saved,
      because: `the checkpoint of step ${saved} is saved; ${atLeast} was needed`,
    };
  const { until, because } = giveUp(facts);
  const late = Math.max(until, facts.lateFrom);
  return now < late
    ? { kind: 'wait', until: late }
    : {
        kind: 'missed',
        because: `${because}; the last checkpoint is ${saved === undefined ? 'not known' : `of step ${saved}`}`,
      };
}

function giveUp({ request, latest, startedAt }: CheckpointFacts): { readonly until: number; readonly because: string } {
  const { atLeast, withinMs, stallMs } = request;
  const deadline = {
    until: startedAt + withinMs,
    because: `no checkpoint of step ${atLeast} or later within ${formatDuration(withinMs)}`,
  };
  if (stallMs === undefined || isResting(latest?.progress.phase)) return deadline;
  const after = latest ? ` after step ${latest.progress.step}` : '';
  const stall = {
    until: Math.max(startedAt, latest?.at ?? 0) + stallMs,
    because: `no step for ${formatDuration(stallMs)}${after}: no further checkpoint is expected`,
  };
  return stall.until < deadline.until ? stall : deadline;
}
