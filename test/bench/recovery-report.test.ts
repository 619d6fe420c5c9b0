import { describe, expect, it } from '@jest/globals';
import { reportOf } from '../../bench/recovery-report.ts';
import { summarise } from '../../bench/statistics.ts';
import type { Trial } from '../../bench/trial.ts';
import { variantsOf } from '../../bench/variants.ts';
import type { Write } from '../../testbed/audit.ts';
import { write } from '../support/writes.ts';

describe('a summary', () => {
  it.each<[string, number[], { p50: number; p99: number; max: number }]>([
    ['takes the middle of an odd number of values', [3, 1, 2], { p50: 2, p99: 3, max: 3 }],
    [
      'takes the lower middle of an even number, so that every figure was measured',
      [4, 1, 2, 3],
      { p50: 2, p99: 4, max: 4 },
    ],
    [
      'distinguishes p99 from the largest from 101 values on',
      Array.from({ length: 101 }, (_, index) => index),
      { p50: 50, p99: 99, max: 100 },
    ],
  ])('%s', (_, values, expected) => {
    expect(summarise(values)).toEqual({ n: values.length, ...expected });
  });
});

describe('the report', () => {
  const kcover = (fault: number, toRunning: number): Trial => ({
    variant: 'pytorch-delete',
    fault,
    accepted: fault + 10,
    tainted: fault + 60,
    firstDeleted: fault + 100,
    newRunning: fault + toRunning,
    window: { from: fault, to: fault + toRunning },
  });
  const bare = (fault: number, toRunning: number): Trial => ({
    variant: 'pytorch-delete-bare',
    fault,
    stopBegan: fault + 5,
    tainted: fault + 5,
    firstDeleted: fault + 9,
    newRunning: fault + toRunning,
  });
  const wrote = (at: number, more: Partial<Write> = {}) => write({ ...more, at: new Date(at) });
  const report = reportOf({
    trials: [kcover(1000, 300), bare(2000, 200), bare(3000, 400), kcover(4000, 900)],
    variants: variantsOf('delete-collection'),
    requests: [
      wrote(1050),
      wrote(1055, { verb: 'list', resource: 'pods' }),
      wrote(1056, { resource: 'leases' }),
      wrote(1060, { resource: 'tokenreviews' }),
      wrote(1070, { user: 'kwok' }),
      wrote(1900),
      wrote(4010),
    ],
    healthy: { events: 19, minutes: 1 },
    machine: { cores: 2, memoryGiB: 24, node: 'v24', load: 1 },
    pods: 8,
  });
  const measure = (what: string) => report.variants[0]?.measures.find((one) => one.what === what);

  it('takes differences within a trial and the ratio of the medians', () => {
    expect(measure('fault -> all new pods Running')).toMatchObject({
      kcover: { p50: 300, max: 900 },
      floor: { p50: 200, max: 400 },
      difference: { p50: 100, max: 500 },
      ratio: 1.5,
    });
  });

  it('counts isolation from the moment at which the report was accepted', () => {
    expect(measure('report accepted -> unschedulable')).toMatchObject({ kcover: { p50: 50 }, floor: { p50: 5 } });
  });

  it('counts writes of kcover within the incident, reviews apart', () => {
    expect(report.variants[0]?.writes).toMatchObject({ p50: 1, max: 1, each: { 'patch nodes': 1 } });
  });

  it('counts all its requests, reads and reviews too, but those for the Lease', () => {
    expect(report.variants[0]?.requests).toMatchObject({ max: 3 });
  });
});
