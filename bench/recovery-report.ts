/** Computes figures from trials. Pure. */

import type { Write } from '../testbed/audit.ts';
import type { HistoryStep } from './histories.ts';
import type { BenchMachine } from './machine.ts';
import { median, type Summary, summarise } from './statistics.ts';
import type { Trial } from './trial.ts';
import type { Variant } from './variants.ts';
import { requestsIn, writesOf } from './writes.ts';

export interface ReportInput {
  readonly trials: readonly Trial[];
  readonly variants: readonly Variant[];
  /** All of kcover, reads too. */
  readonly requests: readonly Write[];
  readonly healthy: { readonly events: number; readonly minutes: number };
  readonly machine: BenchMachine;
  readonly pods: number;
}

/** One measure of kcover with its floor. `difference` is taken pair by pair; `ratio` is of the medians. */
export interface Measure {
  readonly what: string;
  readonly kcover: Summary;
  readonly floor?: Summary;
  readonly difference?: Summary;
  readonly ratio?: number;
}

export interface VariantReport {
  readonly variant: Variant;
  readonly measures: readonly Measure[];
  /** Requests of kcover that change something, without Events, Leases and reviews. */
  readonly writes: Summary & { readonly each: Readonly<Record<string, number>> };
  /** All requests of kcover to the API server, with reads and Events, without its Lease. */
  readonly requests: Summary & { readonly each: Readonly<Record<string, number>> };
  readonly histories: Readonly<Record<'total' | 'job' | 'recovery' | 'node' | 'cluster', Summary>>;
  readonly steps: readonly {
    readonly workflow: string;
    readonly what: string;
    readonly waited: number;
    readonly took: number;
  }[];
}

export interface BenchReport extends Pick<ReportInput, 'machine' | 'pods'> {
  readonly trials: number;
  readonly variants: readonly VariantReport[];
  /** Medians by stop method, without kcover: the cost of the second write and the operator. */
  readonly floors: readonly {
    readonly variant: string;
    readonly toFirstDelete: Summary;
    readonly toRunning: Summary;
  }[];
  readonly healthyJob: {
    readonly eventsAfterStart: Summary;
    readonly eventsOfTheOneLeftAlone: number;
    readonly minutes: number;
  };
}

export function reportOf(input: ReportInput): BenchReport {
  const { trials, variants, healthy, machine, pods } = input;
  const of = (name: string): readonly Trial[] => trials.filter(({ variant }) => variant === name);
  const floors = variants.filter(({ fault }) => fault === 'none');
  const withKcover = variants.filter(({ fault }) => fault !== 'none');
  return {
    machine,
    pods,
    trials: of(variants[0]?.name ?? '').length,
    variants: withKcover.map((variant) => {
      const floor = floors.find(({ kind, by, hastened }) => kind === variant.kind && by === variant.by && !hastened);
      return variantReport(variant, of(variant.name), floor ? of(floor.name) : [], input.requests);
    }),
    floors: floors.map(({ name }) => ({
      variant: name,
      toFirstDelete: summarise(of(name).map((trial) => trial.firstDeleted - stopOf(trial))),
      toRunning: summarise(of(name).map((trial) => trial.newRunning - stopOf(trial))),
    })),
    healthyJob: {
      eventsAfterStart: summarise(trials.flatMap(({ histories }) => histories?.atStart ?? [])),
      eventsOfTheOneLeftAlone: healthy.events,
      minutes: healthy.minutes,
    },
  };
}

const stopOf = (trial: Trial): number => trial.stopBegan ?? trial.fault;

function variantReport(
  variant: Variant,
  trials: readonly Trial[],
  floors: readonly Trial[],
  requests: readonly Write[],
): VariantReport {
  // A pod failure isolates no node: its floor begins with the stop.
  const begin = (floor: Trial): number => (variant.fault === 'pod' ? stopOf(floor) : floor.fault);
  const accepted = (trial: Trial): number => trial.accepted ?? Number.NaN;
  const tainted = (trial: Trial): number => trial.tainted ?? Number.NaN;
  const first = compare(
    'fault -> first pod being deleted',
    trials.map((one) => one.firstDeleted - one.fault),
    floors.map((one) => one.firstDeleted - begin(one)),
  );
  const running = compare(
    'fault -> all new pods Running',
    trials.map((one) => one.newRunning - one.fault),
    floors.map((one) => one.newRunning - begin(one)),
  );
  const isolated = compare(
    'report accepted -> unschedulable',
    trials.map((one) => tainted(one) - accepted(one)),
    floors.map((one) => tainted(one) - one.fault),
  );
  const counted = trials.map(({ window }) => (window ? requestsIn(window, requests) : []));
  const written = counted.map(writesOf);
  return {
    variant,
    measures: [
      compare(
        'fault -> report accepted',
        trials.map((one) => accepted(one) - one.fault),
      ),
      ...(variant.fault === 'kernel' ? [isolated] : []),
      compare(
        'report accepted -> recovery started',
        trials.map((one) => one.acceptedToRecovery ?? Number.NaN),
      ),
      first,
      running,
    ],
    writes: { ...summarise(written.map((some) => some.length)), each: eachOf(written) },
    requests: { ...summarise(counted.map((some) => some.length)), each: eachOf(counted) },
    histories: historiesOf(trials),
    steps: stepsOf(trials),
  };
}

/** `values` and `floors` are in the order of the trials. */
function compare(what: string, values: readonly number[], floors: readonly number[] = []): Measure {
  const kcover = summarise(values);
  if (floors.length !== values.length) return { what, kcover };
  const floor = summarise(floors);
  return {
    what,
    kcover,
    floor,
    difference: summarise(values.map((value, index) => value - (floors[index] ?? Number.NaN))),
    ratio: kcover.p50 / floor.p50,
  };
}

/** Number of each in a median recovery. */
function eachOf(counted: readonly (readonly Write[])[]): Record<string, number> {
  const kind = ({ verb, resource }: Write): string => `${verb} ${resource}`;
  const kinds = [...new Set(counted.flat().map(kind))].toSorted();
  return Object.fromEntries(
    kinds.map((one) => [one, median(counted.map((some) => some.filter((write) => kind(write) === one).length))]),
  );
}

function historiesOf(trials: readonly Trial[]): VariantReport['histories'] {
  const of = (count: (histories: NonNullable<Trial['histories']>) => number): Summary =>
    summarise(trials.flatMap(({ histories }) => (histories ? [count(histories)] : [])));
  return {
    total: of(({ job, recovery, node, cluster }) => job + recovery + node + cluster),
    job: of(({ job }) => job),
    recovery: of(({ recovery }) => recovery),
    node: of(({ node }) => node),
    cluster: of(({ cluster }) => cluster),
  };
}

/** Medians of every step that most trials have, in the order of the first trial. */
function stepsOf(trials: readonly Trial[]): VariantReport['steps'] {
  return (['node', 'job', 'recovery'] as const).flatMap((workflow) => {
    const all = trials.flatMap(({ steps }) => (steps ? [steps[workflow]] : []));
    const names = [...new Set(all.flat().map(({ what }) => what))];
    return names.flatMap((what) => {
      const found = all.flatMap((steps): readonly HistoryStep[] => steps.filter((step) => step.what === what));
      if (found.length * 2 < all.length) return [];
      return [
        {
          workflow,
          what,
          waited: median(found.map(({ waited }) => waited)),
          took: median(found.map(({ took }) => took)),
        },
      ];
    });
  });
}
