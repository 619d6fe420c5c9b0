import { describe, expect, it } from '@jest/globals';
import type { JobProgress } from '../../../contract/progress/progress.ts';
import { judgeCheckpoint, type LatestProgress, latestOf } from '../../../policy/recovery/checkpoint.ts';

const minute = 60_000;
const began = 1_000_000_000;
const says = (step: number, more: Partial<JobProgress> = {}): JobProgress => ({
  step,
  at: '2026-11-21T07:00:00Z',
  ...more,
});
/** Reported progress, and the minute of the report. */
const seenAfter = (...reports: readonly (readonly [minutes: number, progress: JobProgress])[]) =>
  reports.reduce<LatestProgress | undefined>(
    (seen, [minutes, progress]) => latestOf(seen, progress, began + minutes * minute),
    undefined,
  );
const judge = (
  latest: LatestProgress | undefined,
  minutes: number,
  more: { stallMs?: number; lateFrom?: number } = { stallMs: 5 * minute },
) => {
  const { lateFrom = 0, ...stall } = more;
  return judgeCheckpoint(
    { request: { atLeast: 1200, withinMs: 30 * minute, ...stall }, latest, startedAt: began, lateFrom },
    began + minutes * minute,
  );
};

describe('an awaited checkpoint', () => {
  it('is saved as soon as it has the step, or a later one', () => {
    expect(judge(seenAfter([0, says(1210, { checkpointStep: 1200 })]), 0)).toEqual({
      kind: 'saved',
      checkpointStep: 1200,
      because: 'the checkpoint of step 1200 is saved; 1200 was needed',
    });
    expect(judge(seenAfter([0, says(1300, { checkpointStep: 1300 })]), 60)).toMatchObject({
      kind: 'saved',
      checkpointStep: 1300,
    });
  });

  it.each<[sentence: string, latest: LatestProgress | undefined, until: number, because: string]>([
    [
      'while steps are made',
      seenAfter([0, says(1150, { checkpointStep: 1100 })], [28, says(1199, { checkpointStep: 1100 })]),
      30,
      'no checkpoint of step 1200 or later within 30m; the last checkpoint is of step 1100',
    ],
    [
      'until no step is made any more',
      seenAfter([1, says(1150)], [2, says(1151)], [6, says(1151)]),
      7,
      'no step for 5m after step 1151: no further checkpoint is expected; the last checkpoint is not known',
    ],
    [
      'however long it takes to write it, up to the deadline',
      seenAfter([1, says(1150)], [2, says(1150, { phase: 'checkpointing' })]),
      30,
      'no checkpoint of step 1200 or later within 30m; the last checkpoint is not known',
    ],
    [
      'again when something else is done',
      seenAfter([1, says(1150, { phase: 'evaluating' })], [20, says(1150, { phase: 'training' })]),
      25,
      'no step for 5m after step 1150: no further checkpoint is expected; the last checkpoint is not known',
    ],
    [
      'as long as that, when nothing was ever reported',
      undefined,
      5,
      'no step for 5m: no further checkpoint is expected; the last checkpoint is not known',
    ],
  ])('is waited for %s', (_sentence, latest, until, because) => {
    expect(judge(latest, until - 0.01)).toEqual({ kind: 'wait', until: began + until * minute });
    expect(judge(latest, until)).toEqual({ kind: 'missed', because });
  });

  it('is waited for without a step where the job has been stopped', () => {
    expect(judge(seenAfter([0, says(1150)]), 29, {})).toEqual({ kind: 'wait', until: began + 30 * minute });
  });

  it('is not late just after the cluster could not be observed', () => {
    expect(judge(undefined, 31, { lateFrom: began + 40 * minute })).toEqual({
      kind: 'wait',
      until: began + 40 * minute,
    });
    expect(judge(undefined, 40, { lateFrom: began + 40 * minute })).toMatchObject({ kind: 'missed' });
  });
});
