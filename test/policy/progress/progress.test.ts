import { describe, expect, it } from '@jest/globals';
import type { JobProgress } from '../../../contract/progress/progress.ts';
import { judgeProgress, type ProgressObservations, foldProgress } from '../../../policy/progress/progress.ts';

const minute = 60_000;
const restart = Date.parse('2026-11-21T07:10:00Z');
const since = '2026-11-21T07:10:00Z';
const request = { since, beyond: 1200, firstMs: 15 * minute, stallMs: 10 * minute, mostMs: 360 * minute };

const after = (ms: number): string => new Date(restart + ms).toISOString();
const says = (step: number, ms: number): JobProgress => ({ step, at: after(ms) });

/** Reports as [step, ms after the restart], each observed when it was written. */
const seenOf = (...reports: readonly (readonly [number, number])[]): ProgressObservations | undefined =>
  reports.reduce<ProgressObservations | undefined>(
    (seen, [step, ms]) => foldProgress(seen, says(step, ms), { since }, restart + ms),
    undefined,
  );

const judge = (
  seen: ProgressObservations | undefined,
  ms: number,
  more: { progress?: JobProgress; lateFrom?: number } = {},
) => judgeProgress({ request, startedAt: restart, lateFrom: 0, progress: seen?.last, seen, ...more }, restart + ms);

describe('whether training moves on', () => {
  it.each<[string, readonly (readonly [number, number])[], number, object]>([
    [
      'is proven by a step beyond the last before the fault',
      [
        [1100, minute],
        [1201, 2 * minute],
      ],
      2 * minute,
      { kind: 'verified', because: 'step 1201 is beyond 1200, the last before the fault' },
    ],
    ['is not proven by that step alone', [[1200, minute]], minute, { kind: 'wait', until: restart + 11 * minute }],
    ['is waited for until the first report is due', [], 0, { kind: 'wait', until: restart + 15 * minute }],
    [
      'is given up when there is none',
      [],
      15 * minute,
      { kind: 'unverified', because: 'no progress was reported within 15m after all pods ran' },
    ],
    [
      'is waited for as long as it moves',
      [
        [1000, minute],
        [1010, 9 * minute],
      ],
      18 * minute,
      { kind: 'wait', until: restart + 19 * minute },
    ],
    [
      'is given up when it stands',
      [
        [1000, minute],
        [1010, 9 * minute],
      ],
      19 * minute,
      { kind: 'unverified', because: 'no step for 10m after step 1010 of 1200, from step 1000' },
    ],
    [
      'gets ten times its own pace where that is slow',
      [
        [1000, minute],
        [1001, 4 * minute],
        [1003, 10 * minute],
      ],
      39 * minute,
      { kind: 'wait', until: restart + 40 * minute },
    ],
    [
      'is measured per step',
      [
        [1000, minute],
        [1100, 11 * minute],
      ],
      21 * minute,
      { kind: 'unverified', because: expect.stringContaining('no step for 10m') },
    ],
    [
      'is measured by the middle of its paces, so that one long step changes nothing',
      [
        [1, minute],
        [2, 2 * minute],
        [3, 3 * minute],
        [4, 200 * minute],
        [5, 201 * minute],
      ],
      211 * minute,
      { kind: 'unverified', because: expect.stringContaining('no step for 10m after step 5') },
    ],
  ])('%s', (_, reports, ms, decision) => {
    expect(judge(seenOf(...reports), ms)).toEqual(decision);
  });

  it('ends at the last deadline however well it moves, and says how far it came', () => {
    const crawling = seenOf([1000, minute], [1119, 355 * minute], [1120, 356 * minute]);
    expect(judge(crawling, 359 * minute)).toEqual({ kind: 'wait', until: restart + 360 * minute });
    expect(judge(crawling, 360 * minute)).toEqual({
      kind: 'unverified',
      moves: true,
      because: 'step 1120 of 1200 after 6h, from step 1000',
    });
  });

  it('takes no first report for a step, however far it is: it may be what was loaded', () => {
    expect(judge(seenOf([1260, minute]), 2 * minute).kind).toBe('wait');
    expect(judge(seenOf([1260, minute], [1261, 2 * minute]), 2 * minute)).toMatchObject({ kind: 'verified' });
  });

  it('does not count progress of an earlier attempt, and says so', () => {
    const stale = says(1205, -2000);
    expect(foldProgress(undefined, stale, { since }, restart)).toBeUndefined();
    expect(judge(undefined, 15 * minute, { progress: stale })).toMatchObject({
      because: expect.stringContaining('step 1205 of 2026-11-21T07:09:58.000Z belongs to an earlier attempt'),
    });
  });

  it('does not count the second in which the new pods were created: the old attempt may have reported a step in it', () => {
    expect(foldProgress(undefined, says(1205, 999), { since }, restart)).toBeUndefined();
    expect(foldProgress(undefined, says(1205, 1000), { since }, restart)).toBeDefined();
  });

  it('does not count what a stopped pod reports, however late', () => {
    const late = { ...says(1205, minute), pod: 'old' };
    expect(foldProgress(undefined, late, { since, stopped: ['older', 'old'] }, restart + minute)).toBeUndefined();
    expect(
      foldProgress(undefined, { ...late, pod: 'new' }, { since, stopped: ['old'] }, restart + minute),
    ).toBeDefined();
    expect(foldProgress(undefined, says(1205, minute), { since, stopped: ['old'] }, restart + minute)).toBeDefined();
  });

  it('takes the same step with a new time for no step', () => {
    expect(judge(seenOf([1000, minute], [1000, 5 * minute]), 5 * minute)).toEqual({
      kind: 'wait',
      until: restart + 11 * minute,
    });
  });

  it('takes a step that runs backwards for a move that says nothing of the pace', () => {
    const back = seenOf([1000, minute], [900, 5 * minute]);
    expect(back?.pace).toEqual([]);
    expect(judge(back, 5 * minute)).toEqual({ kind: 'wait', until: restart + 15 * minute });
  });

  it('says nothing of the pace where the clock of the reports jumped back', () => {
    expect(
      foldProgress(seenOf([1000, 9 * minute]), says(1010, minute), { since }, restart + 10 * minute)?.pace,
    ).toEqual([]);
  });

  it('is not late just after the cluster could not be observed', () => {
    const lateFrom = restart + 20 * minute;
    expect(judge(undefined, 19 * minute, { lateFrom })).toEqual({ kind: 'wait', until: lateFrom });
    expect(judge(undefined, 20 * minute, { lateFrom })).toMatchObject({ kind: 'unverified' });
  });

  it('keeps no more than it needs', () => {
    expect(seenOf(...Array.from({ length: 100 }, (_, index) => [index, index * minute] as const))?.pace).toHaveLength(
      20,
    );
  });

  describe('while the trainer says that it does something else', () => {
    const saying = (...reports: readonly (readonly [number, number, JobProgress['phase']])[]) =>
      reports.reduce<ProgressObservations | undefined>(
        (seen, [step, ms, phase]) =>
          foldProgress(seen, { ...says(step, ms), ...(phase && { phase }) }, { since }, restart + ms),
        undefined,
      );

    it('is believed to stand for ten times as long', () => {
      const compiling = saying([1000, minute, 'training'], [1000, 2 * minute, 'compiling']);
      expect(judge(compiling, 50 * minute)).toEqual({ kind: 'wait', until: restart + 102 * minute });
      expect(judge(compiling, 102 * minute)).toMatchObject({ kind: 'unverified' });
    });

    it('has its whole time for the next step when it trains again', () => {
      const trains = saying([1000, minute, 'compiling'], [1000, 30 * minute, 'training']);
      expect(judge(trains, 31 * minute)).toEqual({ kind: 'wait', until: restart + 40 * minute });
    });

    it('is measured from step to step all the same', () => {
      const evaluates = saying(
        [1000, minute, 'training'],
        [1000, 2 * minute, 'evaluating'],
        [1001, 3 * minute, 'training'],
      );
      expect(evaluates).toMatchObject({ pace: [2 * minute], movedAt: restart + 3 * minute });
    });
  });
});
