/** Computes figures from storms. Pure. */

import type { Write } from '../testbed/audit.ts';
import type { CpuTimes } from './cpu.ts';
import type { BenchMachine } from './machine.ts';
import { type Summary, summarise } from './statistics.ts';
import type { StormEnding } from './storm-ending.ts';
import type { StormPlan } from './storm-plan.ts';
import type { StormRound } from './storm-round.ts';
import type { Safety } from './storm-safety.ts';
import { writesIn } from './writes.ts';

export interface StormInput {
  readonly plan: StormPlan;
  readonly nodes: number;
  readonly rounds: readonly StormRound[];
  readonly writes: readonly Write[];
  readonly machine: BenchMachine;
}

/** One storm. Times are ms after the first fault; `max` is the last of them. */
export interface StormFigures {
  /** From the first fault to the last, ms. */
  readonly spread: number;
  readonly restarted: number;
  readonly held: number;
  /** Reasons of held nodes, with the number of nodes for each. */
  readonly heldBecause: Readonly<Record<string, number>>;
  readonly safety: Safety;
  readonly quarantined: Summary;
  readonly firstDeleted: Summary;
  readonly running: Summary;
  /** History events of one incident: its recovery, what it added to its job's workflow, and its node's. */
  readonly events: Summary;
  readonly clusterEvents: number;
  readonly writes: number;
  readonly writesPerRecovery: number;
  /** ms of each process, from the first fault until all recoverable jobs run again. */
  readonly cpu: CpuTimes;
}

export interface StormReport extends Pick<StormInput, 'plan' | 'nodes' | 'machine'> {
  readonly rounds: readonly StormFigures[];
  /** The last job or node of each storm; `max` is that of the worst storm. */
  readonly last: Readonly<Record<'quarantined' | 'firstDeleted' | 'running', Summary>>;
  /** Sums over all storms. */
  readonly lost: number;
  readonly doubled: number;
  readonly misplaced: number;
  readonly violations: readonly string[];
}

export function reportOfStorms({ plan, nodes, rounds: seen, writes, machine }: StormInput): StormReport {
  const rounds = seen.map((round) => figuresOf(round, writes));
  const sum = (of: (safety: Safety) => number): number => rounds.reduce((total, { safety }) => total + of(safety), 0);
  const last = (what: 'quarantined' | 'firstDeleted' | 'running'): Summary =>
    summarise(rounds.map((round) => round[what].max));
  return {
    plan,
    nodes,
    machine,
    rounds,
    last: { quarantined: last('quarantined'), firstDeleted: last('firstDeleted'), running: last('running') },
    lost: sum(({ lost }) => lost),
    doubled: sum(({ doubled }) => doubled),
    misplaced: sum(({ misplaced }) => misplaced),
    violations: rounds.flatMap(({ safety }) => safety.violations),
  };
}

function figuresOf(round: StormRound, all: readonly Write[]): StormFigures {
  const { cases, firstFault, lastFault, safety, clusterEvents, window, cpu } = round;
  const after = (times: readonly (number | undefined)[]): Summary =>
    summarise(times.flatMap((time) => (time === undefined ? [] : [time - firstFault])));
  const restarted = cases.filter(({ job }) => job === 'restarted');
  const writes = writesIn(window, all).length;
  return {
    spread: lastFault - firstFault,
    restarted: restarted.length,
    held: cases.filter(({ job }) => job === 'held').length,
    heldBecause: reasons(cases),
    safety,
    quarantined: after(cases.map(({ tainted }) => tainted)),
    firstDeleted: after(cases.map(({ firstDeleted }) => firstDeleted)),
    running: after(restarted.map(({ newRunning }) => newRunning)),
    events: summarise(restarted.map(({ events }) => events.job + events.recovery + events.node)),
    clusterEvents,
    writes,
    writesPerRecovery: writes / restarted.length,
    cpu,
  };
}

/** Removes from a node's reason its own fault, so that shared reasons are counted together. */
function reasons(cases: readonly StormEnding[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { job, because = '' } of cases) {
    if (job !== 'held') continue;
    const [shared = ''] = because.split('; ');
    counts[shared] = (counts[shared] ?? 0) + 1;
  }
  return counts;
}
