import { describe, expect, it } from '@jest/globals';
import type { JobProgress } from '../../../contract/progress/progress.ts';
import { afterBreak, foldPace, paceFrom, paceOf, type PaceObservations } from '../../../policy/progress/pace.ts';

const began = Date.parse('2026-11-21T07:00:00Z');
/** A report of a step at a second, with further fields. */
const says = (step: number, second: number, more: Partial<JobProgress> = {}): JobProgress => ({
  step,
  at: new Date(began + second * 1000).toISOString(),
  ...more,
});
const seen = (reports: readonly JobProgress[], from: PaceObservations = paceFrom(undefined)): PaceObservations =>
  reports.reduce(foldPace, from);

describe('the pace of training', () => {
  it.each<[sentence: string, reports: readonly JobProgress[], expected: object | undefined]>([
    ['is not known before the second step', [says(7, 0), says(7, 60)], undefined],
    ['is the time between two reports for each step between them', [says(0, 0), says(10, 20)], { msPerStep: 2000 }],
    [
      'is the one in the middle, so that a long pause changes nothing',
      [says(0, 0), says(10, 10), says(20, 20), says(21, 3600), says(31, 3610)],
      { msPerStep: 1000 },
    ],
    ['has three digits', [says(0, 0), says(7, 10)], { msPerStep: 1430 }],
    ['leaves out steps that run backwards', [says(100, 0), says(90, 1000), says(91, 1002)], { msPerStep: 2000 }],
    ['leaves out times that do', [says(1, 100), says(2, 50), says(3, 52)], { msPerStep: 2000 }],
    ['leaves out repeated reports', [says(1, 0), says(1, 50), says(2, 100)], { msPerStep: 100_000 }],
    [
      'leaves out times in which the trainer said that it does something else',
      [
        says(1, 0, { phase: 'training' }),
        says(1, 5, { phase: 'evaluating' }),
        says(1, 500, { phase: 'training' }),
        says(2, 501),
        says(4, 503),
      ],
      { msPerStep: 1000 },
    ],
    [
      'knows how many steps lie between two checkpoints',
      [
        says(100, 0, { checkpointStep: 100 }),
        says(150, 50, { checkpointStep: 100 }),
        says(200, 100, { checkpointStep: 200 }),
      ],
      { msPerStep: 1000, stepsPerCheckpoint: 100 },
    ],
    [
      'takes no older checkpoint for one',
      [says(100, 0, { checkpointStep: 100 }), says(101, 1, { checkpointStep: 50 })],
      { msPerStep: 1000 },
    ],
  ])('%s', (_sentence, reports, expected) => {
    expect(paceOf(seen(reports))).toEqual(expected);
  });

  it('measures nothing across a break, and keeps what it knows', () => {
    const first = afterBreak(seen([says(0, 0, { checkpointStep: 0 }), says(10, 10, { checkpointStep: 10 })]));
    const second = seen([says(11, 5000, { checkpointStep: 11 })], first);
    expect(paceOf(second)).toEqual({ msPerStep: 1000, stepsPerCheckpoint: 10 });
    expect(second.steps).toHaveLength(1);
  });

  it('continues from the pace of an earlier controller', () => {
    const known = paceFrom({ msPerStep: 1500, stepsPerCheckpoint: 40 });
    expect(paceOf(known)).toEqual({ msPerStep: 1500, stepsPerCheckpoint: 40 });
    expect(paceOf(seen([says(0, 0), says(1, 90)], known))).toEqual({ msPerStep: 1500, stepsPerCheckpoint: 40 });
  });

  it('keeps no more than it needs', () => {
    const long = seen(Array.from({ length: 100 }, (_, index) => says(index, index, { checkpointStep: index })));
    expect([long.steps.length, long.checkpoints.length]).toEqual([20, 20]);
  });
});
