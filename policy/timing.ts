/** Whether an attempt is stopped now, or after its next checkpoint. */

import { formatDuration } from '../contract/duration.ts';
import type { JobProgress } from '../contract/progress.ts';
import type { Severity, StopTiming } from '../contract/recovery-plan.ts';
import type { WorkerSettings } from '../contract/settings.schema.ts';

/** What `chooseTiming` decides from. */
export interface TimingFacts {
  readonly severity: Severity;
  /** As the job tells it; whatever is missing or contradicts itself means "now". */
  readonly progress?: JobProgress | undefined;
  /** Held by the job: those that stand idle, and whose work is lost. */
  readonly gpus: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface TimingDecision {
  readonly choice: 'now' | 'after-checkpoint';
  /** All 0 where it could not be worked out; `because` says why not. */
  readonly timing: StopTiming;
  /** The longest wait, ms: until the checkpoint would be so late that nobody knows when it comes. Asked again later, it ends at the same time. */
  readonly withinMs: number;
  /** Without a step for so long the job no longer runs, ms. */
  readonly stallMs: number;
  readonly because: string;
}

type Settings = WorkerSettings['recovery']['checkpoint'];

/** So many times its own pace without a step is a stall, and never less: a step that saves a checkpoint takes longer than the others. */
const stall = { paces: 10, leastMs: 5 * 60_000 } as const;
/** A checkpoint that is due or late is expected within this part of the interval: intervals are not known exactly. */
const soon = 0.1;
/** Later than this it is not waited for: when the one after it would be due, and never sooner than so long after it is due. */
const late = { intervals: 1, leastMs: 5 * 60_000 } as const;

/**
 * Compares what either choice is expected to lose, in GPU-hours. Now: the work since the last checkpoint. After the next: what a slow node wastes until
 * then; and if the job ends before, the work up to there. A degrading node is taken to end the job at any moment alike, after `mtbf` in the mean.
 * While steps go on, less is to be waited for and more to be lost with every step: where waiting is better once, it stays better until the checkpoint
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
  if (lateMs <= 0) return stopNow(`the checkpoint of step ${nextStep} is overdue, and nobody knows when it comes`, timing, stallMs);
  if (nextMs > settings.most) return stopNow(`${because}, but nobody may wait longer than ${formatDuration(settings.most)}`, timing, stallMs);
  if (lost.afterCheckpoint >= lost.now) return stopNow(because, timing, stallMs);
  return { choice: 'after-checkpoint', timing, withinMs: Math.ceil(Math.min(lateMs, settings.most)), stallMs, because };
}

const stopNow = (because: string, timing: StopTiming, stallMs: number): TimingDecision => ({ choice: 'now', timing, withinMs: 0, stallMs, because });

/** Where training is between two checkpoints. */
interface CheckpointTimes {
  /** Since the last checkpoint, and until the next, at the pace of the job, ms. */
  readonly lastMs: number;
  readonly nextMs: number;
  /** Until the next is overdue, ms. */
  readonly lateMs: number;
  readonly nextStep: number;
}

function whereItIs({ severity, progress, now }: TimingFacts, stallMs: number, { slowdown }: Settings): CheckpointTimes | { readonly unknown: string } {
  if (!progress) return { unknown: 'nobody tells how far training is' };
  const { step, checkpointStep, pace, phase = 'training' } = progress;
  const msPerStep = usable(pace?.msPerStep);
  const interval = usable(pace?.stepsPerCheckpoint);
  if (msPerStep === 0) return { unknown: 'the pace of its steps is not known' };
  if (checkpointStep === undefined) return { unknown: 'no checkpoint was ever told of' };
  if (interval === 0) return { unknown: 'how far apart its checkpoints are is not known' };
  if (checkpointStep > step) return { unknown: `the checkpoint of step ${checkpointStep} is newer than step ${step}: one of them is wrong` };
  // A report from the future is one of just now: the node's clock is not ours.
  const ageMs = usable(now - Date.parse(progress.at));
  if (ageMs > stallMs && phase === 'training') return { unknown: `no step was told of for ${formatDuration(ageMs)}: nobody knows whether it still trains` };
  const since = step - checkpointStep + (phase === 'training' ? ageMs / msPerStep : 0);
  // Its pace may be one from before it became slow.
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
 * A slow job's work is worth the time that it takes on sound nodes. Whether its pace was taken before it became slow or after changes both sums
 * alike. The work that is lost when a degrading job ends before the checkpoint grows until it ends: the mean of `lastMs + t` over an exponential `t`.
 */
function lossOf(severity: Severity, { lastMs, nextMs }: CheckpointTimes, { mtbf, slowdown }: Settings): Omit<StopTiming, 'nextInMs'> {
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

/** 0 of what is missing or makes no sense. */
const usable = (value: number | undefined): number => (value !== undefined && Number.isFinite(value) && value > 0 ? value : 0);

const formatHours = (hours: number): string => (hours < 0.001 ? '0' : hours < 0.1 ? hours.toPrecision(1) : hours.toFixed(1));
