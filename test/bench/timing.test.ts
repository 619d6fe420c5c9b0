import { describe, expect, it } from '@jest/globals';
import { randomFrom } from '../../policy/preflight/pairing.ts';
import { drawIncident, type TimedIncident } from '../../bench/timing-incident.ts';
import { describeTiming } from '../../bench/timing-page.ts';
import { reportTiming } from '../../bench/timing-report.ts';
import { costsOf } from '../../bench/timing-strategies.ts';
import { settings } from '../support/builders.ts';

const rules = settings().recovery.checkpoint;
const minute = 60_000;

/** 60 GPUs, one step a second, and a checkpoint every 20 minutes that takes no time, the last one 15 minutes ago. So the costs are in minutes. */
const incident = (more: Partial<TimedIncident> = {}): TimedIncident => ({
  severity: 'degrading',
  gpus: 60,
  msPerStep: 1000,
  speed: 1,
  interval: 1200,
  done: 900,
  writeMs: 0,
  writtenMs: 0,
  endsMs: Infinity,
  hangs: false,
  worsensMs: Infinity,
  intervalMs: 20 * minute,
  lagMs: 0,
  reports: { ageMs: 0, phase: false, msPerStep: 1000, stepsPerCheckpoint: 1200 },
  ...more,
});
const costs = (more: Partial<TimedIncident> = {}) => {
  const { now, after, policy, bound } = costsOf(incident(more), rules);
  return [now, after, policy, bound].map((cost) => Number(cost.toFixed(3)));
};

describe('what a moment costs', () => {
  it.each<[string, Partial<TimedIncident>, readonly [now: number, after: number, policy: number, bound: number]]>([
    ['a job that lives on loses nothing after the checkpoint', {}, [15, 0, 0, 0]],
    ['one that ends before it loses what was done meanwhile, too', { endsMs: 2 * minute }, [15, 17, 17, 15]],
    ['and its idle time where it only stands still', { endsMs: 2 * minute, hangs: true }, [15, 22, 22, 15]],
    ['the policy does not wait for a checkpoint that is far away', { done: 60, endsMs: 2 * minute }, [1, 3, 1, 1]],
    ['a slow job loses what is wasted until the checkpoint', { severity: 'slow', speed: 0.5 }, [15, 5, 5, 5]],
    [
      'a slow one that gets worse is judged anew',
      { severity: 'slow', speed: 0.5, worsensMs: 4 * minute },
      [15, 5, 5, 5],
    ],
    ['a dead one has nothing to wait for', { severity: 'dead', endsMs: 0 }, [15, 15, 15, 15]],
    ['what was done since the checkpoint that was awaited is lost', { lagMs: 6000 }, [15, 0.1, 0.1, 0.1]],
    ['a checkpoint takes a while to write', { writeMs: 3 * minute, endsMs: 7 * minute }, [15, 22, 22, 15]],
    ['a job that reports no pace is stopped now', { reports: { ageMs: 0, phase: false } }, [15, 0, 15, 0]],
  ])('%s', (_, more, expected) => {
    expect(costs(more)).toEqual(expected);
  });

  it('is never less than that of a rule that knows the future', () => {
    const random = randomFrom('bound');
    for (let job = 0; job < 500; job++) {
      const { bound, ...others } = costsOf(drawIncident(random), rules);
      expect(Math.min(...Object.values(others))).toBeGreaterThanOrEqual(bound);
    }
  });
});

describe('the mix', () => {
  const report = reportTiming(4000, rules);

  it('gives the same figures every time', () => {
    expect(reportTiming(4000, rules)).toEqual(report);
    expect(reportTiming(4000, rules, 'another')).not.toEqual(report);
  });

  it('costs the policy no more than the better of the two rules', () => {
    const [all] = report.parts;
    expect(all).toMatchObject({ name: 'all', jobs: 4000 });
    expect(all?.over.mean).toBeLessThanOrEqual(0.02);
  });

  it('is reported by part', () => {
    const lines = describeTiming(report).split('\n');
    expect(report.parts.filter(({ name }) => !lines.some((line) => line.startsWith(`${name} `)))).toEqual([]);
  });
});
