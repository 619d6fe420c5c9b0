/** What the records of a time say together: how often, how long, at what cost, because of what. Pure. */

import type { NodeRecord } from '../../contract/node/nodes.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { Outcome } from '../../contract/recovery/outcomes.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { nodesOf } from '../incidents/incident.ts';
import { costOf, firstFaultAt, type PhaseSpan, spansOf } from './cost.ts';

/** Of a recovery or a quarantine. */
export type Recorded = IncidentRecord | NodeRecord;

/** Milliseconds since the epoch. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** Times in milliseconds, GPU time in GPU-hours. */
export interface FleetReport {
  readonly from: string;
  readonly to: string;
  readonly recoveries: number;
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
  /** Of the restarts, those of which training was seen to pass its last step; missing without restarts. */
  readonly verifiedShare?: number;
  /** From the first fault until the recovery ended, of those that ended as recovered or restarted. */
  readonly timeToRecover?: { readonly p50: number; readonly p95: number };
  /** Mean time from one recovery to the next. */
  readonly betweenRecoveries?: number;
  readonly gpuHours: number;
  /** Recoveries whose cost is not in `gpuHours`: they stopped something, and the accelerators of the job are not known. */
  readonly withoutCost: number;
  readonly byPhase: readonly { readonly phase: PhaseSpan['phase']; readonly gpuHours: number }[];
  readonly byCause: readonly { readonly cause: string; readonly recoveries: number; readonly gpuHours: number }[];
  /** With several clusters, as are the names of clusters below. */
  readonly byCluster?: readonly ClusterShare[];
  readonly byNode: readonly {
    readonly cluster?: string;
    readonly node: string;
    readonly recoveries: number;
    readonly quarantines: number;
  }[];
  readonly byJob: readonly {
    readonly cluster?: string;
    readonly job: string;
    readonly recoveries: number;
    readonly lostMs: number;
    readonly gpuHours: number;
    /** Effective training time ratio: the share of the time, since the job opted in or since `from`, that no incident took. */
    readonly ettr?: number;
  }[];
  readonly quarantines: { readonly count: number; readonly open: number; readonly p50?: number };
}

/** A cluster in short. */
export interface ClusterShare extends Pick<FleetReport, 'recoveries' | 'gpuHours' | 'timeToRecover'> {
  readonly cluster: string;
  readonly quarantines: number;
}

const mostListed = 10;
const hoursOf = (ms: number, gpus = 0): number => (ms / 3_600_000) * gpus;

export function fleetReport(records: readonly Recorded[], { from, to }: Window): FleetReport {
  const recoveries = records.filter(
    (record): record is IncidentRecord => 'job' in record && isWithin(Date.parse(record.endedAt)),
  );
  const quarantines = records.filter(
    (record): record is NodeRecord =>
      !('job' in record) && (record.ended === undefined || isWithin(Date.parse(record.ended.at))),
  );
  const restarts = recoveries.filter(({ outcome }) => outcome === 'recovered' || outcome === 'restarted');
  const verified = restarts.filter(({ outcome }) => outcome === 'recovered').length;
  const took = restarts.map((record) => Date.parse(record.endedAt) - firstFaultAt(record));
  const starts = recoveries.map(({ startedAt }) => Date.parse(startedAt));
  const out = quarantines.flatMap(({ quarantinedAt, ended }) =>
    ended ? [Date.parse(ended.at) - Date.parse(quarantinedAt)] : [],
  );
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    recoveries: recoveries.length,
    outcomes: Object.fromEntries(counted(recoveries.map(({ outcome }) => outcome))),
    ...(restarts.length > 0 && {
      verifiedShare: verified / restarts.length,
      timeToRecover: { p50: quantile(took, 0.5), p95: quantile(took, 0.95) },
    }),
    ...(starts.length > 1 && { betweenRecoveries: meanGap(starts) }),
    gpuHours: sum(recoveries.map(gpuHoursOf)),
    withoutCost: recoveries.filter((record) => record.stops.length > 0 && record.gpus === undefined).length,
    byPhase: phasesOf(recoveries),
    byCause: causesOf(recoveries),
    byNode: nodesIn(recoveries, quarantines),
    byJob: jobsOf(recoveries, from, to),
    quarantines: {
      count: quarantines.length,
      open: inForce(quarantines),
      ...(out.length > 0 && { p50: quantile(out, 0.5) }),
    },
  };

  function isWithin(at: number): boolean {
    return at >= from && at <= to;
  }
}

function gpuHoursOf(record: IncidentRecord): number {
  const cost = costOf(record);
  return cost ? hoursOf(cost.lostMs, cost.gpus) : 0;
}

/** Only recoveries that stopped something: a job that was left alone lost nothing by the phases. */
function phasesOf(recoveries: readonly IncidentRecord[]): FleetReport['byPhase'] {
  const spans = recoveries
    .filter(({ stops }) => stops.length > 0)
    .flatMap((record) =>
      spansOf(record).map(({ phase, from, to }) => [phase, hoursOf(to - from, record.gpus)] as const),
    );
  return largest([...summed(spans)], ([, hours]) => hours).map(([phase, gpuHours]) => ({ phase, gpuHours }));
}

function causesOf(recoveries: readonly IncidentRecord[]): FleetReport['byCause'] {
  const causes = Map.groupBy(recoveries, ({ faults }) => faults[0]?.code ?? 'unknown');
  const rows = [...causes].map(([cause, all]) => ({
    cause,
    recoveries: all.length,
    gpuHours: sum(all.map(gpuHoursOf)),
  }));
  return largest(rows, (row) => row.recoveries);
}

function nodesIn(recoveries: readonly IncidentRecord[], quarantines: readonly NodeRecord[]): FleetReport['byNode'] {
  const inRecoveries = counted(recoveries.flatMap(({ faults }) => nodesOf(faults)));
  const inQuarantines = counted(quarantines.map(({ node }) => node));
  const rows = [...new Set([...inRecoveries.keys(), ...inQuarantines.keys()])].map((node) => ({
    node,
    recoveries: inRecoveries.get(node) ?? 0,
    quarantines: inQuarantines.get(node) ?? 0,
  }));
  return largest(rows, (row) => row.recoveries + row.quarantines);
}

function jobsOf(recoveries: readonly IncidentRecord[], from: number, to: number): FleetReport['byJob'] {
  // By UID: a job that was created again under its name is another one.
  const jobs = Map.groupBy(recoveries, ({ job }) => job.uid);
  const rows = [...jobs.values()].map((all) => {
    const [first] = all as [IncidentRecord, ...IncidentRecord[]];
    const lostMs = sum(all.map((record) => costOf({ ...record, gpus: record.gpus ?? 1 })?.lostMs ?? 0));
    const optedIn = Math.min(
      ...all.flatMap(({ optedInAt }) => (optedInAt === undefined ? [] : [Date.parse(optedInAt)])),
    );
    const since = Math.max(from, optedIn);
    return {
      job: `${first.job.namespace}/${jobTitle(first.job)}`,
      recoveries: all.length,
      lostMs,
      gpuHours: sum(all.map(gpuHoursOf)),
      ...(Number.isFinite(optedIn) && to > since && { ettr: Math.max(0, 1 - lostMs / (to - since)) }),
    };
  });
  return largest(rows, (row) => row.lostMs);
}

/** A record without an end may be one whose end was never written: then another of its node follows it. */
function inForce(quarantines: readonly NodeRecord[]): number {
  const last = Map.groupBy(
    quarantines.toSorted((a, b) => Date.parse(a.quarantinedAt) - Date.parse(b.quarantinedAt)),
    ({ node }) => node,
  );
  return [...last.values()].filter((all) => all.at(-1)?.ended === undefined).length;
}

const meanGap = (times: readonly number[]): number => (Math.max(...times) - Math.min(...times)) / (times.length - 1);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const counted = <Key>(keys: readonly Key[]): ReadonlyMap<Key, number> => summed(keys.map((key) => [key, 1]));

function summed<Key>(pairs: readonly (readonly [Key, number])[]): ReadonlyMap<Key, number> {
  const sums = new Map<Key, number>();
  for (const [key, value] of pairs) sums.set(key, (sums.get(key) ?? 0) + value);
  return sums;
}

/** At most ten. */
export const largest = <Row>(rows: readonly Row[], by: (row: Row) => number): Row[] =>
  rows.toSorted((a, b) => by(b) - by(a)).slice(0, mostListed);

/** The smallest value that is not exceeded by the share of the values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
