/** A simulated job with a known outcome, and the progress that it reports. */

import type { JobProgress } from '../contract/progress/progress.ts';
import type { Severity } from '../contract/recovery/plan.ts';
import type { Random } from '../policy/preflight/pairing.ts';

/** Times are milliseconds after the fault unless stated otherwise. */
export interface TimedIncident {
  readonly severity: Severity;
  readonly gpus: number;
  /** On healthy nodes. */
  readonly msPerStep: number;
  /** Remaining share of that speed. */
  readonly speed: number;
  /** Steps between two checkpoints, and how many of them are done. */
  readonly interval: number;
  readonly done: number;
  /** How long training pauses to write a checkpoint, and how long it has paused when the fault occurs. */
  readonly writeMs: number;
  readonly writtenMs: number;
  /** When the job ends by itself, and whether it then hangs instead of failing. */
  readonly endsMs: number;
  readonly hangs: boolean;
  /** When a slow node becomes a degrading one. */
  readonly worsensMs: number;
  /** For degrading nodes: the mean of the distribution of their lifetimes. */
  readonly mtbfMs?: number;
  readonly intervalMs: number;
  /** From a checkpoint to the stop that waited for it. */
  readonly lagMs: number;
  readonly reports: {
    readonly ageMs: number;
    readonly phase: boolean;
    readonly msPerStep?: number;
    readonly stepsPerCheckpoint?: number;
  };
}

const [second, minute, hour] = [1000, 60_000, 3_600_000];

/** Draws one job of the mix. Its assumptions are in `docs/benchmarks.md`. */
export function drawIncident(random: Random): TimedIncident {
  const severity = severityAt(random());
  const intervalMs = between(minute, 120 * minute, random);
  const msPerStep = Math.min(between(0.2 * second, 30 * second, random), intervalMs);
  const regular = random() < 0.9;
  const interval = Math.max(1, Math.round((intervalMs / msPerStep) * spread(regular ? 0.1 : 0.5, random)));
  const writeMs = Math.min(between(second, 5 * minute, random), intervalMs / 5);
  const at = random() * (interval * msPerStep + writeMs);
  const speed = severity === 'slow' ? 1 - (0.05 + 0.55 * random()) : 1;
  const mtbfMs = between(5 * minute, 24 * hour, random);
  const worsensMs = severity === 'slow' && random() < 0.2 ? exponential(hour, random) : Infinity;
  const livesMs = exponential(mtbfMs, random);
  // Whether the reported pace was measured on a node that was slow already.
  const paced = random() < 0.5 ? speed : 1;
  return {
    severity,
    gpus: 8 * 2 ** Math.floor(8 * random()),
    msPerStep,
    speed,
    interval,
    done: Math.min(interval, at / msPerStep),
    writeMs,
    writtenMs: Math.max(0, at - interval * msPerStep),
    endsMs: { dead: 0, degrading: livesMs, slow: worsensMs + livesMs }[severity],
    hangs: random() < 0.3,
    worsensMs,
    ...(severity === 'degrading' && { mtbfMs }),
    intervalMs,
    lagMs: 15 * second * random(),
    reports: {
      ageMs: 15 * second * random(),
      phase: random() < 0.5,
      ...(random() < 0.99 && { msPerStep: (msPerStep / paced) * spread(0.1, random) }),
      ...(random() < 0.99 && {
        stepsPerCheckpoint: Math.max(1, Math.round((intervalMs / msPerStep) * spread(0.2, random))),
      }),
    },
  };
}

/** Of ten jobs three are dead, four degrade, three are slow. */
const severityAt = (share: number): Severity => (share < 0.3 ? 'dead' : share < 0.7 ? 'degrading' : 'slow');

/** When the next checkpoint is saved, if the job lives that long. */
export const savedMs = (incident: TimedIncident): number => trainsMs(incident) + incident.writeMs - incident.writtenMs;

/** How long it makes steps before it writes. */
export const trainsMs = ({ interval, done, msPerStep, speed }: TimedIncident): number =>
  ((interval - done) * msPerStep) / speed;

/** The progress annotations of the job at that time: from a report that is some seconds old. */
export function progressAt(incident: TimedIncident, ms: number, epoch: number): JobProgress {
  const { interval, done, msPerStep, speed, writtenMs, reports } = incident;
  const then = ms - reports.ageMs;
  const steps = Math.max(0, Math.min(interval, done + ((then + writtenMs) * speed) / msPerStep));
  return {
    step: Math.floor(steps),
    checkpointStep: 0,
    at: new Date(epoch + then).toISOString(),
    ...(reports.phase && { phase: steps === interval ? 'checkpointing' : 'training' }),
    ...(reports.msPerStep !== undefined && {
      pace: {
        msPerStep: reports.msPerStep,
        ...(reports.stepsPerCheckpoint !== undefined && { stepsPerCheckpoint: reports.stepsPerCheckpoint }),
      },
    }),
  };
}

/** Log-uniform: every order of magnitude is equally likely. */
const between = (least: number, most: number, random: Random): number => least * (most / least) ** random();
const exponential = (mean: number, random: Random): number => -mean * Math.log(1 - random());
/** A factor around 1; Box-Muller transform. */
const spread = (sigma: number, random: Random): number =>
  Math.exp(sigma * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()));
