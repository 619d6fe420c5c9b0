/** Whether to stop an attempt now, or after its next checkpoint. */

import { formatDuration } from '../../contract/settings/duration.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { Severity, StopTiming } from '../../contract/recovery/plan.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';

/** What `chooseTiming` decides from. */
export interface TimingFacts {
  readonly severity: Severity;
  /** As the job reports it; missing or contradictory values lead to "now". */
  readonly progress?: JobProgress | undefined;
  /** GPUs of the job: idle while it is stopped, and their work is lost. */
  readonly gpus: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface TimingDecision {
  readonly choice: 'now' | 'after-checkpoint';
  /** All 0 where it could not be computed; `because` says why. */
  readonly timing: StopTiming;
  /** The longest wait, ms: until the checkpoint counts as overdue. The end is the same when it is computed again later. */
  readonly withinMs: number;
  /** After so long without a step the job counts as no longer running, ms. */
  readonly stallMs: number;
  readonly because: string;
}

type Settings = WorkerSettings['recovery']['checkpoint'];

/** Stall limit, as a multiple of the job's pace, with a minimum: a step that saves a checkpoint takes longer than others. */
const stall = { paces: 10, leastMs: 5 * 60_000 } as const;
/** A checkpoint that is due or late is expected within this fraction of the interval, because intervals vary. */
const soon = 0.1;
/** The wait ends when the following checkpoint would be due, but at least this long after the awaited one is due. */
const late = { intervals: 1, leastMs: 5 * 60_000 } as const;

/**
 * Compares the expected loss of either choice, in GPU-hours. Now: the work since the last checkpoint. After the next checkpoint: what a slow node
 * wastes until then, and the work so far if the job fails before. A degrading node is assumed to end the job at a constant rate, after `mtbf`
 * on average. With every step the wait gets shorter and the possible loss larger: once waiting is better, it stays better until the checkpoint
 * comes or is overdue.
 */
export function chooseTiming(facts: TimingFacts, settings: Settings): TimingDecision {
  const stallMs = Math.max(stall.leastMs, stall.paces * usable(facts.progress?.pace?.msPerStep));
  const place = whereItIs(facts, stallMs, settings);
  if ('unknown' in place) return stopNow(place.unknown, { now: 0, afterCheckpoint: 0, nextInMs: 0 }, stallMs);
  const { nextMs, lateMs, nextStep } = place;
  const lost = lossOf(facts.severity, place, settings);
  const hours = (ms: number): number => (ms * facts.gpus) / 3_600_000;
  const timing = { now: hours(lost.now), afterCheckpoint: hours(lost.afterCheckpoint), nextInMs: Math.round(nextMs) };
  const because = `waiting ${formatDuration(nextMs)} for step ${nextStep} is expected to cost ${formatHours(timing.afterCheckpoint)} GPU-hours, stopping now ${formatHours(timing.now)}`;
  if (lateMs <= 0)
    return stopNow(`the checkpoint of step ${nextStep} is overdue, and it is unknown when it comes`, timing, stallMs);
  if (nextMs > settings.most)
    return stopNow(`${because}, but the longest wait is ${formatDuration(settings.most)}`, timing, stallMs);
  if (lost.afterCheckpoint >= lost.now) return stopNow(because, timing, stallMs);
  return { choice: 'after-checkpoint', timing, withinMs: Math.ceil(Math.min(lateMs, settings.most)), stallMs, because };
}

const stopNow = (because: string, timing: StopTiming, stallMs: number): TimingDecision => ({
  choice: 'now',
  timing,
  withinMs: 0,
  stallMs,
  because,
});

/** Where training is between two checkpoints. */
interface CheckpointTimes {
  /** Since the last checkpoint, and until the next, at the pace of the job, ms. */
  readonly lastMs: number;
  readonly nextMs: number;
  /** Until the next is overdue, ms. */
  readonly lateMs: number;
  readonly nextStep: number;
}

function whereItIs(
  { severity, progress, now }: TimingFacts,
  stallMs: number,
  { slowdown }: Settings,
): CheckpointTimes | { readonly unknown: string } {
  if (!progress) return { unknown: 'the job reports no progress' };
  const { step, checkpointStep, pace, phase = 'training' } = progress;
  const msPerStep = usable(pace?.msPerStep);
  const interval = usable(pace?.stepsPerCheckpoint);
  if (msPerStep === 0) return { unknown: 'the pace of its steps is not known' };
  if (checkpointStep === undefined) return { unknown: 'no checkpoint was reported' };
  if (interval === 0) return { unknown: 'the interval of its checkpoints is not known' };
  if (checkpointStep > step)
    return { unknown: `the checkpoint of step ${checkpointStep} is newer than step ${step}: one of them is wrong` };
  // The node's clock may be ahead of ours, so a report from the future counts as one of now.
  const ageMs = usable(now - Date.parse(progress.at));
  if (ageMs > stallMs && phase === 'training')
    return { unknown: `no step was reported for ${formatDuration(ageMs)}: it is unknown whether it still trains` };
  const since = step - checkpointStep + (phase === 'training' ? ageMs / msPerStep : 0);
  // The pace may have been measured before the job became slow.
  const slowest = severity === 'slow' ? Math.max(0.1, 1 - slowdown) : 1;
  const left = phase === 'checkpointing' ? 0 : interval - since;
  return {
    lastMs: since * msPerStep,
    nextMs: Math.max(left, soon * interval) * msPerStep,
    lateMs: (left * msPerStep + Math.max(late.leastMs, late.intervals * interval * msPerStep)) / slowest,
    nextStep: phase === 'checkpointing' ? step : Math.round(checkpointStep + interval),
  };
}

/**
 * The work of a slow job counts by the time that it takes on healthy nodes. Whether its pace was measured before or after it became slow changes
 * both sums alike. The work that a degrading job loses if it ends before the checkpoint grows with time: the mean of `lastMs + t` over an
 * exponential `t`.
 */
function lossOf(
  severity: Severity,
  { lastMs, nextMs }: CheckpointTimes,
  { mtbf, slowdown }: Settings,
): Omit<StopTiming, 'nextInMs'> {
  switch (severity) {
    case 'dead':
      return { now: lastMs, afterCheckpoint: lastMs + nextMs };
    case 'slow':
      return { now: lastMs * (1 - slowdown), afterCheckpoint: nextMs * slowdown };
    case 'degrading': {
      const part = nextMs / Math.max(1, mtbf);
      const survives = Math.exp(-part);
      return { now: lastMs, afterCheckpoint: lastMs * (1 - survives) + mtbf * (1 - survives * (1 + part)) };
    }
  }
}

/** 0 for missing or meaningless values. */
const usable = (value: number | undefined): number =>
  value !== undefined && Number.isFinite(value) && value > 0 ? value : 0;

const formatHours = (hours: number): string =>
  hours < 0.001 ? '0' : hours < 0.1 ? hours.toPrecision(1) : hours.toFixed(1);
