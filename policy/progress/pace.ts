/** The speed of training, from the progress that its trainer reports. Pure. */

import type { JobProgress, Pace, ProgressPhase } from '../../contract/progress/progress.ts';

/** Observations of one job. */
export interface PaceObservations {
  /** The last report with a new step, from which the next one is measured; missing after a break. */
  readonly last?: JobProgress;
  /** Since then the trainer reported another phase, so the elapsed time does not count as step time. */
  readonly rested?: true;
  /** The last checkpoint of this attempt. */
  readonly checkpoint?: number;
  /** Milliseconds per step between two reports, by the trainer's clock, oldest first; at most 20. */
  readonly steps: readonly number[];
  /** Steps between two checkpoints, oldest first; at most 20. */
  readonly checkpoints: readonly number[];
}

/** Size of the window. */
export const mostReports = 20;

/** Whether no step is expected in this phase. */
export const isResting = (phase: ProgressPhase | undefined): boolean => phase !== undefined && phase !== 'training';

/** Starts from the pace that an earlier controller recorded, which counts as one report. */
export const paceFrom = (known: Pace | undefined): PaceObservations => ({
  steps: known ? [known.msPerStep] : [],
  checkpoints: known?.stepsPerCheckpoint === undefined ? [] : [known.stepsPerCheckpoint],
});

/** Another attempt or rank reports from now on: its first report is not measured from the last one. */
export const afterBreak = ({ steps, checkpoints }: PaceObservations): PaceObservations => ({ steps, checkpoints });

/** Adds a report. Steps or times that run backwards do not count for the pace. */
export function foldPace(seen: PaceObservations, progress: JobProgress): PaceObservations {
  const { last, steps, checkpoints } = seen;
  const saved = progress.checkpointStep;
  const between = saved !== undefined && seen.checkpoint !== undefined ? saved - seen.checkpoint : 0;
  const checkpoint = saved ?? seen.checkpoint;
  const counted = { ...(checkpoint !== undefined && { checkpoint }), checkpoints: longer(checkpoints, between) };
  const rested = isResting(progress.phase) || (seen.rested ?? false);
  if (last && progress.step === last.step) return { last, ...(rested && { rested }), steps, ...counted };
  const took = last && !seen.rested ? (Date.parse(progress.at) - Date.parse(last.at)) / (progress.step - last.step) : 0;
  return {
    last: progress,
    ...(isResting(progress.phase) && { rested: true }),
    steps: longer(steps, last && progress.step > last.step ? took : 0),
    ...counted,
  };
}

const longer = (values: readonly number[], value: number): readonly number[] =>
  value > 0 ? [...values, value].slice(-mostReports) : values;

/** Medians, milliseconds to three digits. Undefined before two steps were observed. */
export function paceOf({ steps, checkpoints }: PaceObservations): Pace | undefined {
  const msPerStep = median(steps);
  const stepsPerCheckpoint = median(checkpoints);
  if (msPerStep === undefined) return undefined;
  return {
    msPerStep: Number(msPerStep.toPrecision(3)),
    ...(stepsPerCheckpoint !== undefined && { stepsPerCheckpoint }),
  };
}

/** The lower of two in the middle. */
export const median = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
