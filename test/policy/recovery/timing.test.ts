import { describe, expect, it } from '@jest/globals';
import type { JobProgress } from '../../../contract/progress/progress.ts';
import type { Severity } from '../../../contract/recovery/plan.ts';
import { randomFrom } from '../../../policy/preflight/pairing.ts';
import { chooseTiming, type TimingFacts } from '../../../policy/recovery/timing.ts';
import { settings } from '../../support/builders.ts';

const minute = 60_000;
const now = Date.parse('2026-11-21T12:00:00Z');
const rules = settings({ recovery: { checkpoint: { mtbf: '1h', slowdown: 0.3, most: '2h' } } }).recovery.checkpoint;

/** One step a second, a checkpoint every 1000 steps; the last step is 900. */
const progress = (more: Partial<JobProgress> = {}): JobProgress => ({
  step: 1900,
  checkpointStep: 1000,
  at: new Date(now).toISOString(),
  pace: { msPerStep: 1000, stepsPerCheckpoint: 1000 },
  ...more,
});
const facts = (more: Partial<TimingFacts> = {}): TimingFacts => ({
  severity: 'degrading',
  progress: progress(),
  gpus: 36,
  now,
  ...more,
});
const choose = (more: Partial<TimingFacts> = {}, other: Partial<typeof rules> = {}) =>
  chooseTiming(facts(more), { ...rules, ...other });

describe('now, or after the next checkpoint', () => {
  it.each<[string, Partial<TimingFacts>, Partial<typeof rules>, 'now' | 'after-checkpoint']>([
    ['a degrading job shortly before a checkpoint waits', {}, {}, 'after-checkpoint'],
    ['a degrading job shortly after one does not', { progress: progress({ step: 1020 }) }, {}, 'now'],
    ['a dead job never waits', { severity: 'dead' }, {}, 'now'],
    [
      'a slow job waits where little time is wasted',
      { severity: 'slow', progress: progress({ step: 1500 }) },
      {},
      'after-checkpoint',
    ],
    ['a slow job does not wait where much is', { severity: 'slow', progress: progress({ step: 1100 }) }, {}, 'now'],
    [
      'a job that hardly moves any more does not wait',
      { severity: 'slow', progress: progress({ step: 1500 }) },
      { slowdown: 0.9 },
      'now',
    ],
    ['a job that may end any second does not wait', {}, { mtbf: 20_000 }, 'now'],
    ['the wait would be longer than allowed', {}, { most: minute }, 'now'],
    ['waiting is not allowed', {}, { most: 0 }, 'now'],
    [
      'just after a checkpoint there is nothing to lose',
      { severity: 'slow', progress: progress({ step: 1000 }) },
      {},
      'now',
    ],
    [
      'a checkpoint that is being written is waited for',
      { progress: progress({ step: 1300, phase: 'checkpointing' }) },
      {},
      'after-checkpoint',
    ],
    ['one that is a little late too', { progress: progress({ step: 2100 }) }, {}, 'after-checkpoint'],
    ['one that is very late is not', { progress: progress({ step: 3000 }) }, {}, 'now'],
    ['the number of GPUs changes no choice', { gpus: 1 }, {}, 'after-checkpoint'],
  ])('%s', (_, more, other, choice) => {
    const decided = choose(more, other);
    expect(decided.choice).toBe(choice);
    expect(decided.withinMs > 0).toBe(choice === 'after-checkpoint');
  });

  it('records what either choice is expected to lose, and says it in a sentence', () => {
    const { timing, because } = choose();
    expect(timing.now).toBeCloseTo(9);
    // 36 GPUs and 900 s of work are lost with probability 1 - e^(-100/3600), and then half of the wait too.
    expect(timing.afterCheckpoint).toBeCloseTo(0.26, 2);
    expect(timing.nextInMs).toBe(100_000);
    expect(because).toBe('waiting 1m 40s for step 2000 is expected to cost 0.3 GPU-hours, stopping now 9.0');
  });

  it('counts the work of a slow job as sound nodes do it, and the wait by what it wastes', () => {
    const { timing } = choose({ severity: 'slow' });
    expect(timing.now).toBeCloseTo(9 * 0.7);
    expect(timing.afterCheckpoint).toBeCloseTo(0.3);
  });

  it('adds the steps since the last report', () => {
    const reported = progress({ step: 1700 });
    const later = choose({ now: now + 100_000, progress: reported });
    expect(later.timing.nextInMs).toBe(200_000);
    expect(later.timing.now).toBeCloseTo(8);
    expect(choose({ now: now + 100_000, progress: { ...reported, phase: 'evaluating' } }).timing.nextInMs).toBe(
      300_000,
    );
  });

  it('expects one that is due or late within a tenth of the interval', () => {
    expect(choose({ progress: progress({ step: 1990 }) }).timing.nextInMs).toBe(100_000);
    expect(choose({ progress: progress({ step: 2500 }) }).timing.nextInMs).toBe(100_000);
  });

  it('waits a whole interval longer than expected, and never longer than allowed', () => {
    expect(choose().withinMs).toBe(1_100_000);
    expect(choose({}, { most: 10 * minute }).withinMs).toBe(10 * minute);
  });

  it('takes ten paces without a step for a stall, but no less than five minutes', () => {
    expect(choose().stallMs).toBe(5 * minute);
    expect(choose({ progress: progress({ pace: { msPerStep: 2 * minute, stepsPerCheckpoint: 8 } }) }).stallMs).toBe(
      20 * minute,
    );
  });
});

describe('progress that does not say enough', () => {
  const nothing = { now: 0, afterCheckpoint: 0, nextInMs: 0 };
  const without = (key: 'checkpointStep' | 'pace') => {
    const { [key]: _, ...rest } = progress();
    return rest;
  };
  it.each<[string, JobProgress | undefined, string]>([
    ['no progress', undefined, 'the job reports no progress'],
    ['no pace', without('pace'), 'the pace of its steps is not known'],
    [
      'a pace of 0',
      progress({ pace: { msPerStep: 0, stepsPerCheckpoint: 1000 } }),
      'the pace of its steps is not known',
    ],
    [
      'a pace that is no number',
      progress({ pace: { msPerStep: Number.NaN, stepsPerCheckpoint: 1000 } }),
      'the pace of its steps is not known',
    ],
    ['no checkpoint', without('checkpointStep'), 'no checkpoint was reported'],
    ['no interval', progress({ pace: { msPerStep: 1000 } }), 'the interval of its checkpoints is not known'],
    [
      'a step that ran backwards behind the checkpoint',
      progress({ step: 10 }),
      'the checkpoint of step 1000 is newer than step 10: one of them is wrong',
    ],
    [
      'a last step of long ago',
      progress({ at: new Date(now - 6 * minute).toISOString() }),
      'no step was reported for 6m: it is unknown whether it still trains',
    ],
  ])('stops now, and says so: %s', (_, progress, because) => {
    expect(choose({ progress })).toMatchObject({ choice: 'now', because, timing: nothing, withinMs: 0 });
  });

  it.each([
    ['of the future', new Date(now + 10 * minute).toISOString()],
    ['that is no time', 'yesterday'],
  ])('takes a report %s for one of just now', (_, at) => {
    expect(choose({ progress: progress({ at }) })).toEqual(choose());
  });
});

describe('a choice that is made again at every observation', () => {
  const random = randomFrom('looks');
  const between = (least: number, most: number): number => least * (most / least) ** random();

  /** Observes one job repeatedly until its checkpoint is due, while training makes steps at the reported pace. */
  function lookOften(severity: Severity) {
    const msPerStep = Math.ceil(between(100, 30_000));
    const stepsPerCheckpoint = Math.max(2, Math.round(between(minute, 120 * minute) / msPerStep));
    const most = between(minute, 240 * minute);
    const other = { mtbf: between(minute, 1000 * minute), slowdown: 0.9 * random(), most };
    const looks = Array.from({ length: 30 }, () => random() * stepsPerCheckpoint * msPerStep).toSorted((a, b) => a - b);
    return looks.map((ms) => {
      const step = Math.floor(ms / msPerStep);
      const reported = {
        step,
        checkpointStep: 0,
        at: new Date(now + step * msPerStep).toISOString(),
        pace: { msPerStep, stepsPerCheckpoint },
      };
      const { choice, withinMs } = choose({ severity, progress: reported, now: now + ms }, other);
      return { choice, endsAt: ms + withinMs, capped: withinMs >= most };
    });
  }

  it.each<Severity>(['degrading', 'slow'])(
    'stays with the wait, and never puts off its end, while nothing changes: %s',
    (severity) => {
      const jobs = Array.from({ length: 200 }, () => lookOften(severity));
      for (const looks of jobs) {
        const waits = looks.slice(looks.findIndex(({ choice }) => choice === 'after-checkpoint'));
        if (looks.every(({ choice }) => choice === 'now')) continue;
        expect(waits.filter(({ choice }) => choice === 'now')).toEqual([]);
        const ends = waits.filter(({ capped }) => !capped).map(({ endsAt }) => endsAt);
        expect(ends.filter((end, index) => end > (ends[index - 1] ?? Infinity) + 2)).toEqual([]);
      }
      expect(jobs.filter((looks) => new Set(looks.map(({ choice }) => choice)).size === 2).length).toBeGreaterThan(50);
    },
  );
});
