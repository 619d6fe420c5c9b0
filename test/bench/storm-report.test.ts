import { describe, expect, it } from '@jest/globals';
import { cpuBetween } from '../../bench/cpu.ts';
import { nodesOf, planOf } from '../../bench/storm-plan.ts';
import { reportOfStorms } from '../../bench/storm-report.ts';
import type { StormRound } from '../../bench/storm-round.ts';
import { write } from '../support/writes.ts';

const sound = { lost: 0, doubled: 0, misplaced: 0, violations: [] };
const restarted = (at: number): StormRound['cases'][number] => ({
  job: 'restarted',
  node: 'quarantined',
  tainted: at + 10,
  firstDeleted: at + 40,
  newRunning: at + 100,
  events: { job: 20, recovery: 60, node: 50 },
});
const held = (code: string): StormRound['cases'][number] => ({
  job: 'held',
  node: 'held',
  because: `held: 2 nodes are out and 2 may be (10% of 17 nodes); ${code} on it`,
  events: { job: 9, recovery: 30, node: 40 },
});
const storm = (firstFault: number, cases: StormRound['cases'], more: Partial<StormRound> = {}): StormRound => ({
  firstFault,
  lastFault: firstFault + 5,
  cases,
  clusterEvents: 12,
  safety: sound,
  cpu: {},
  window: { from: firstFault, to: firstFault + 1000 },
  ...more,
});
const wrote = (at: number) => write({ at: new Date(at) });
const reportOn = (rounds: readonly StormRound[]) =>
  reportOfStorms({
    plan: planOf({ hits: 'nodes', count: 8, limit: 'all', kind: 'Job' }),
    nodes: 17,
    rounds,
    writes: [wrote(1500), wrote(1600), wrote(1700), wrote(2500), wrote(9000)],
    machine: { cores: 2, memoryGiB: 24, node: 'v24', load: 1 },
  });

describe('the report of storms', () => {
  it('counts everything from the first fault, and the last one apart for each storm', () => {
    const { rounds, last } = reportOn([
      storm(1000, [restarted(1000), restarted(1200)]),
      storm(5000, [restarted(5400)]),
    ]);
    expect(rounds.map(({ firstDeleted }) => firstDeleted)).toEqual([
      { n: 2, p50: 40, p99: 240, max: 240 },
      { n: 1, p50: 440, p99: 440, max: 440 },
    ]);
    expect(last).toMatchObject({ quarantined: { p50: 210, max: 410 }, running: { p50: 300, max: 500 } });
  });

  it('takes times of what happened only, and recoveries for events and writes', () => {
    const [figures] = reportOn([storm(1000, [restarted(1000), held('xid/79'), held('xid/48')])]).rounds;
    expect(figures).toMatchObject({
      restarted: 1,
      held: 2,
      quarantined: { n: 1, p50: 10, p99: 10, max: 10 },
      events: { n: 1, p50: 130, p99: 130, max: 130 },
      writes: 3,
      writesPerRecovery: 3,
    });
  });

  it('names the reason that held nodes share once', () => {
    const [figures] = reportOn([storm(1000, [held('xid/79'), held('xid/48')])]).rounds;
    expect(figures?.heldBecause).toEqual({ 'held: 2 nodes are out and 2 may be (10% of 17 nodes)': 2 });
  });

  it('adds up what must not be over all storms', () => {
    const bad = { lost: 1, doubled: 2, misplaced: 0, violations: ['deleted twice'] };
    expect(reportOn([storm(1000, [], { safety: bad }), storm(2000, [], { safety: bad })])).toMatchObject({
      lost: 2,
      doubled: 4,
      misplaced: 0,
      violations: ['deleted twice', 'deleted twice'],
    });
  });
});

describe('the plan of a storm', () => {
  it('has capacity for every job after its node broke', () => {
    expect([nodesOf('nodes', 64), nodesOf('jobs', 64)]).toEqual([129, 17]);
  });

  it('expects as many quarantined nodes as the limit of the settings allows', () => {
    const allowed = (hits: 'jobs' | 'nodes', count: number, limit: 'all' | 'default') =>
      planOf({ hits, count, limit, kind: 'Job' }).allowed;
    expect([
      allowed('nodes', 64, 'all'),
      allowed('nodes', 64, 'default'),
      allowed('nodes', 8, 'default'),
      allowed('jobs', 8, 'default'),
    ]).toEqual([64, 12, 2, 8]);
  });
});

describe('processor time', () => {
  it('is the difference of two looks, the busiest first and idle ones left out', () => {
    const used = cpuBetween({ etcd: 100, worker: 500, kwok: 30 }, { etcd: 150, worker: 900, kwok: 30, temporal: 70 });
    expect(Object.entries(used)).toEqual([
      ['worker', 400],
      ['temporal', 70],
      ['etcd', 50],
    ]);
  });
});
