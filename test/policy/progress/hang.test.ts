import { describe, expect, it } from '@jest/globals';
import type { JobProgress } from '../../../contract/progress/progress.ts';
import { hangFault, type HangReport, judgeHang, type Standstill } from '../../../policy/progress/hang.ts';

const minute = 60_000;
const settings = { times: 20, leastMs: 10 * minute, witnesses: 2 };
const says = (more: Partial<JobProgress> = {}): JobProgress => ({
  step: 1200,
  at: '2026-11-21T07:00:00Z',
  pace: { msPerStep: 2000 },
  ...more,
});
const hangs = (after: number, seen: Partial<Standstill> = {}) =>
  judgeHang({ progress: says(), movedAt: 0, ...seen }, settings, after * minute).kind === 'hangs';

describe('training that makes no step', () => {
  it.each<[sentence: string, seen: Partial<Standstill>, lastWait: number]>([
    ['hangs after the least time, where its steps are short', {}, 10],
    ['hangs after twenty of its steps, where they are long', { progress: says({ pace: { msPerStep: minute } }) }, 20],
    [
      'has ten times as long while the duration of its steps is unknown',
      { progress: { step: 0, at: '2026-11-21T07:00:00Z' } },
      100,
    ],
    ['may evaluate for ten times the least', { progress: says({ phase: 'evaluating' }), turnedAt: minute }, 100],
    [
      'may checkpoint for as long as its long steps allow',
      { progress: says({ phase: 'checkpointing', pace: { msPerStep: 6 * minute } }), turnedAt: minute },
      120,
    ],
    [
      'has its whole time again after it has compiled',
      { progress: says({ phase: 'training' }), turnedAt: 45 * minute },
      55,
    ],
    [
      'gains no more by turning from one thing to another for ever',
      { progress: says({ phase: 'training' }), turnedAt: 300 * minute },
      110,
    ],
    ['is excused while its missing steps are excused', { excusedAt: 500 * minute }, 510],
    [
      'is not excused by what was before its last step',
      { movedAt: 30 * minute, excusedAt: minute, turnedAt: minute },
      40,
    ],
  ])('%s', (_sentence, seen, lastWait) => {
    expect([hangs(lastWait - 0.01, seen), hangs(lastWait, seen)]).toEqual([false, true]);
  });

  it('is reported with its step, the duration, and the usual pace', () => {
    expect(judgeHang({ progress: says(), movedAt: 0 }, settings, 12 * minute).because).toBe(
      'no step for 12m after step 1200; half of its steps take no more than 2s',
    );
    expect(judgeHang({ progress: says({ phase: 'compiling' }), movedAt: 0 }, settings, 101 * minute).because).toMatch(
      /; it says that it is compiling$/,
    );
  });

  it('is one fault of the job, and of no node, for each pod and step', () => {
    const job = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job-uid' } as const;
    const report = (more: Partial<HangReport> = {}): HangReport => ({
      pod: 'pod-uid',
      progress: says(),
      seenAt: '2026-11-21T07:12:00Z',
      witnesses: ['no step'],
      suspects: [],
      ...more,
    });
    const fault = hangFault(job, report());
    expect(fault).toMatchObject({ source: 'progress', code: 'progress/hang', message: 'no step', job: 'job-uid' });
    expect(fault).not.toHaveProperty('node');
    const ids = [
      fault,
      hangFault(job, report({ witnesses: ['later'], seenAt: '2026-11-21T08:00:00Z' })),
      hangFault(job, report({ pod: 'other' })),
      hangFault(job, report({ progress: says({ step: 1201 }) })),
    ];
    expect(new Set(ids.map(({ id }) => id)).size).toBe(3);
  });
});
