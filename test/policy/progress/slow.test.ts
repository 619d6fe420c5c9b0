import { describe, expect, it } from '@jest/globals';
import type { JobProgress } from '../../../contract/progress/progress.ts';
import { foldTrend, type PaceTrend, slowdownOf, type SlowReport, slowFault } from '../../../policy/progress/slow.ts';

const settings = { times: 1.3, forMs: 60_000 };
const began = Date.parse('2026-11-21T07:00:00Z');

/** Some reports, each this many seconds after the last one, and a step further. */
interface Reports {
  readonly count: number;
  readonly seconds: number;
  readonly steps?: number;
  readonly phase?: JobProgress['phase'];
}
const every = (seconds: number, count: number, more: Partial<Reports> = {}): Reports => ({ seconds, count, ...more });

function reportsOf(parts: readonly Reports[], from = 0): readonly JobProgress[] {
  let [step, ms] = [from, began];
  return parts.flatMap(({ count, seconds, steps = 1, phase }) =>
    Array.from({ length: count }, () => {
      step += steps;
      ms += seconds * 1000;
      return { step, at: new Date(ms).toISOString(), ...(phase && { phase }) };
    }),
  );
}
const seen = (...parts: readonly Reports[]): PaceTrend => {
  const trend = reportsOf(parts).reduce<PaceTrend | undefined>(
    (before, next) => foldTrend(before, next, settings),
    undefined,
  );
  if (trend === undefined) throw new Error('no report');
  return trend;
};
const isSlow = (...parts: readonly Reports[]): boolean => slowdownOf(seen(...parts), settings) !== undefined;

// Eleven reports are half of the window; thirty of two seconds are a minute.
const fast = every(1, 40);
const slowFor = 10 + 30;

describe('training that takes longer than it did', () => {
  it('is slow when its median has been above the limit for the whole time, and not a step before', () => {
    expect([isSlow(fast, every(2, slowFor - 1)), isSlow(fast, every(2, slowFor))]).toEqual([false, true]);
  });

  it('is measured by its own clock, however many steps a report has', () => {
    const many = { steps: 10 };
    expect(isSlow(every(10, 40, many), every(20, 12, many))).toBe(false);
    expect(isSlow(every(10, 40, many), every(20, 13, many))).toBe(true);
  });

  it.each<[sentence: string, parts: readonly Reports[]]>([
    ['at its limit', [fast, every(1.3, 500)]],
    ['from the beginning', [every(2, 500)]],
    ['before a whole window was measured at its best', [every(1, 10), every(2, 500)]],
    ['for a moment', [fast, every(2, slowFor - 5), fast, every(2, slowFor - 5), fast]],
    ['for one long pause', [fast, every(3600, 1), fast]],
    ['for a long pause in a short slowdown', [fast, every(2, 12), every(3600, 1, { steps: 1 }), every(2, 3)]],
    [
      'while it says that it evaluates',
      [fast, every(2, 12), every(3600, 10, { phase: 'evaluating', steps: 0 }), every(2, 3)],
    ],
    ['since it went back to a checkpoint', [fast, every(2, 1, { steps: -30 }), every(2, 500)]],
    ['in two of five steps', Array.from({ length: 100 }, () => [every(1, 3), every(9, 2)]).flat()],
  ])('is not slow %s', (_sentence, parts) => {
    expect(isSlow(...parts)).toBe(false);
  });

  it('is compared with its best pace, not with that of its begin', () => {
    expect(isSlow(every(2, 40), every(1, 40), every(2, slowFor))).toBe(true);
  });

  it('is one slowdown while its pace varies around the limit, which ends when the pace is back', () => {
    const around = [fast, every(2, slowFor), every(1.25, 40), every(1.4, 40)];
    const from = slowdownOf(seen(fast, every(2, slowFor)), settings)?.from;
    expect(slowdownOf(seen(...around), settings)?.from).toEqual(from);
    expect(isSlow(...around, every(1.1, 40))).toBe(false);
    expect(isSlow(...around, every(1.1, 40), every(1.25, 100))).toBe(false);
  });

  it('is reported with both paces as one fault of the job, and of no node', () => {
    const job = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job-uid' } as const;
    const faultAfter = (count: number, found: SlowReport['found'] = {}) => {
      const trend = seen(fast, every(2, count));
      const slow = slowdownOf(trend, settings);
      return slow && slowFault(job, { ...slow, pod: 'pod-uid', seenAt: '2026-11-21T08:00:00Z', found });
    };
    const fault = faultAfter(slowFor);
    expect(fault).toMatchObject({
      source: 'progress',
      code: 'progress/slow',
      job: 'job-uid',
      message:
        'half of the last steps took at least 2s, 2.0 times the 1s at best in this attempt, for 1m since step 51',
    });
    expect(fault).not.toHaveProperty('node');
    const suspect = { pod: 'llm-2', node: 'gpu-2', because: 'x' };
    const later = faultAfter(slowFor + 100, { witnesses: ['rank 17 is the slowest'], suspects: [suspect] });
    expect(later?.id).toBe(fault?.id);
    expect(later?.message).toMatch(/; rank 17 is the slowest; suspected: llm-2 on gpu-2$/);
  });
});
