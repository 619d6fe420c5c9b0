/** How versions of the reference project collect the reports of a workload: one set after the other, all or nothing. */

import type { PreflightReport } from '../../contract/preflight/preflight.ts';

export const collectingProfiles = ['seed', 'v008', 'v012', 'recommended'] as const;
export type CollectingProfile = (typeof collectingProfiles)[number];

interface Rules {
  /** Inactivity after which a set expires, s, where none is given. */
  readonly timeoutSeconds: number;
  /** Workloads with the same name are distinguished by their UIDs. */
  readonly byUid: boolean;
  /** Effect of a report with another size on a set. */
  readonly otherSize: 'refused' | 'restarts';
  /** What happens to the report that finds a set expired. */
  readonly late: 'dropped' | 'kept';
  /** A set whose reports were observed further apart than the timeout is discarded. */
  readonly spread: boolean;
}

const v012 = {
  timeoutSeconds: 600,
  byUid: true,
  otherSize: 'restarts',
  late: 'dropped',
  spread: true,
} as const satisfies Rules;
const seed = {
  timeoutSeconds: 1800,
  byUid: false,
  otherSize: 'refused',
  late: 'dropped',
  spread: false,
} as const satisfies Rules;

const rulesOf: Readonly<Record<CollectingProfile, Rules>> = {
  seed,
  v008: seed,
  v012,
  recommended: { ...v012, timeoutSeconds: 1800, late: 'kept' },
};

/** A valid report that arrives for a set. Times in µs since any start. */
export interface ReportArrival {
  readonly namespace: string;
  readonly workload: string;
  readonly uid: string;
  readonly report: PreflightReport;
  readonly observedAt: number;
}

/** The reports of one workload, by node: a later one of the same node replaces the first. */
export interface Collection extends Omit<ReportArrival, 'report' | 'observedAt'> {
  readonly size: number;
  readonly entries: ReadonlyMap<string, Pick<ReportArrival, 'report' | 'observedAt'>>;
  readonly lastAt: number;
}

export type CollectionOutcome =
  | { readonly outcome: 'waiting'; readonly open: Collection; readonly expired: readonly Collection[] }
  | { readonly outcome: 'ready'; readonly complete: Collection }
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'timeout'; readonly expired: readonly Collection[] };

export interface Collecting {
  /** Takes a valid report; the outcome says whether its set accepts it. */
  readonly arrive: (arrival: ReportArrival, now: number) => CollectionOutcome;
  /** Ends and returns every stale set. */
  readonly sweep: (now: number) => readonly Collection[];
}

interface Open extends Collection {
  readonly entries: Map<string, Pick<ReportArrival, 'report' | 'observedAt'>>;
  lastAt: number;
}

const second = 1_000_000;

/** Collects by the rules of a profile; a timeout that is not above 0 counts as none. */
export function collecting(profile: CollectingProfile, timeoutSeconds: number | undefined): Collecting {
  const rules = rulesOf[profile];
  const timeout = Math.round(
    (timeoutSeconds !== undefined && timeoutSeconds > 0 ? timeoutSeconds : rules.timeoutSeconds) * second,
  );
  const sets = new Map<string, Open>();
  const keyOf = ({ namespace, workload, uid }: ReportArrival): string =>
    JSON.stringify([namespace, workload, rules.byUid ? uid : '']);
  const stale = ({ lastAt }: Collection, now: number): boolean => lastAt + timeout <= now;

  const join = (set: Open, { report, observedAt }: ReportArrival, now: number): Open => {
    set.entries.set(report.node, { report, observedAt });
    set.lastAt = now;
    return set;
  };
  const begin = (arrival: ReportArrival, now: number): Open => {
    const { namespace, workload, uid, report } = arrival;
    const opened = join({ namespace, workload, uid, size: report.size, entries: new Map(), lastAt: now }, arrival, now);
    sets.set(keyOf(arrival), opened);
    return opened;
  };

  return {
    arrive(arrival, now) {
      const before = sets.get(keyOf(arrival));
      if (before === undefined) return { outcome: 'waiting', open: begin(arrival, now), expired: [] };
      if (stale(before, now)) {
        if (rules.late === 'kept') return { outcome: 'waiting', open: begin(arrival, now), expired: [before] };
        sets.delete(keyOf(arrival));
        return { outcome: 'timeout', expired: [before] };
      }
      if (before.size !== arrival.report.size) {
        return rules.otherSize === 'refused'
          ? { outcome: 'refused' }
          : { outcome: 'waiting', open: begin(arrival, now), expired: [] };
      }
      if (rules.spread && spreadOf(before, arrival) > timeout) {
        begin(arrival, now);
        return { outcome: 'timeout', expired: [before] };
      }
      const open = join(before, arrival, now);
      if (open.entries.size < open.size) return { outcome: 'waiting', open, expired: [] };
      sets.delete(keyOf(arrival));
      return { outcome: 'ready', complete: open };
    },
    sweep(now) {
      const expired = [...sets]
        .filter(([, set]) => stale(set, now))
        .toSorted(([a], [b]) => Number(a > b) - Number(a < b));
      for (const [key] of expired) sets.delete(key);
      return expired.map(([, set]) => set);
    },
  };
}

/** Spread of the observation times of the report and all in the set, including the one that it would replace. */
function spreadOf({ entries }: Collection, { observedAt }: ReportArrival): number {
  const all = [observedAt, ...[...entries.values()].map((entry) => entry.observedAt)];
  return Math.max(...all) - Math.min(...all);
}
