import {
  type CarriedPreflight,
  type CollectedReport,
  type PreflightDecision,
  preflightLimits,
  type PreflightRun,
  type RefusedReport,
} from '../contract/preflight.ts';
import { iso } from './attributes.ts';
import { isObject, textOf } from './faults.ts';

/** Refusals that are kept for people to see, and ranks that are listed. */
const most = { refused: 20, ranks: 50, inbox: 20_000 } as const;

/** Reports of one set of pods, the newest of each rank. */
export interface OpenRun {
  readonly run: number;
  /** 0 while no report has told. */
  size: number;
  readonly startedAt: number;
  /** When the last report came that counted, and how many have come. */
  lastAt: number;
  arrived: number;
  readonly reports: Map<number, CollectedReport>;
  /** The pod that was first heard of. */
  readonly pod: CollectedReport['pod'];
  /** Nodes that were told already. */
  readonly told: Set<string>;
}

/** What a collection remembers. Plain bookkeeping, no decisions. */
export class PreflightMemory {
  open: OpenRun | undefined;
  last: PreflightRun | undefined;
  refused: RefusedReport[];
  dropped: number;
  private run: number;
  /** By rank: what counted in the last run. */
  private counted: Map<number, CarriedPreflight['counted'][number]>;
  private testing: string;
  private inbox: { readonly report: CollectedReport; readonly at: number }[] = [];

  constructor(carried: CarriedPreflight | undefined) {
    this.run = carried?.run ?? 0;
    this.last = carried?.last;
    this.counted = new Map(carried?.counted.map((one) => [one.rank, one]));
    this.testing = carried?.testing ?? '';
    this.refused = [...(carried?.refused ?? [])];
    this.dropped = carried?.dropped ?? 0;
  }

  /** Keeps what can be used of a signal; the rest is counted. */
  take(payload: unknown, at: number): void {
    const listed = isObject(payload) && Array.isArray(payload['reports']) ? payload['reports'] : [];
    const usable = listed.filter(isCollected).slice(0, Math.max(0, most.inbox - this.inbox.length));
    this.inbox.push(...usable.map((report) => ({ report, at })));
    this.dropped += listed.length - usable.length;
    const refusals = isObject(payload) && Array.isArray(payload['refused']) ? payload['refused'] : [];
    this.refused = [...this.refused, ...refusals.filter(isRefused).map(slim)].slice(-most.refused);
  }

  /** Pods test: their reports are waited for from now on, also when none ever comes. */
  expect(payload: unknown, at: number): void {
    const pod = isObject(payload) ? payload['pod'] : undefined;
    const [name, uid] = isObject(pod) ? [textOf(pod['name']), textOf(pod['uid'])] : [];
    if (name === undefined || uid === undefined) {
      this.dropped += 1;
      return;
    }
    if (uid === this.testing || [...this.counted.values()].some((one) => one.pod === uid)) return;
    this.testing = uid;
    this.open ??= this.newRun(0, { name, uid }, at);
  }

  hasWork = (): boolean => this.inbox.length > 0;

  /** Puts what waits into the run it belongs to, until a run is complete: what then waits belongs to the next. */
  sort(): void {
    while (!this.isComplete()) {
      const next = this.inbox.shift();
      if (next === undefined) return;
      this.place(next.report, next.at);
    }
  }

  isComplete = (): boolean => this.open !== undefined && this.open.size > 0 && this.open.reports.size >= this.open.size;

  /** Whether a report says that its own node is broken and nobody was told yet. */
  cannotWait = (): boolean =>
    this.open !== undefined && [...this.open.reports.values()].some(({ report }) => (report.failed?.length ?? 0) > 0 && !this.open?.told.has(report.node));

  /** The open run is over. */
  close(outcome: PreflightRun['outcome'], at: number, because: string, decision?: PreflightDecision): PreflightRun | undefined {
    const { open } = this;
    if (open === undefined) return undefined;
    this.open = undefined;
    this.counted = new Map([...open.reports.values()].map(({ report: { rank }, pod, writtenAt }) => [rank, { rank, pod: pod.uid, writtenAt }]));
    this.last = {
      run: open.run,
      startedAt: iso(open.startedAt),
      endedAt: iso(at),
      outcome,
      received: open.reports.size,
      expected: open.size,
      because,
      ...(decision && open.size > 0 ? { verdict: verdictOf(decision) } : {}),
    };
    return this.last;
  }

  /** Of the run that collects, or the last. */
  progress(): { readonly run: number; readonly received: number; readonly expected: number; readonly missing: readonly number[] } {
    const { open, last } = this;
    if (open === undefined) return { run: this.run, received: last?.received ?? 0, expected: last?.expected ?? 0, missing: last?.verdict?.missing ?? [] };
    const missing = Array.from({ length: open.size }, (_, rank) => rank).filter((rank) => !open.reports.has(rank));
    return { run: open.run, received: open.reports.size, expected: open.size, missing: missing.slice(0, most.ranks) };
  }

  /** Only between two runs: thousands of reports would not fit into one payload. */
  carry(): CarriedPreflight {
    return {
      run: this.run,
      counted: [...this.counted.values()],
      testing: this.testing,
      refused: this.refused,
      dropped: this.dropped,
      ...(this.last ? { last: this.last } : {}),
    };
  }

  /** A new pod at a rank that has reported, or another size, opens the next run; what older pods still send counts nowhere. */
  private place(arrived: CollectedReport, at: number): void {
    if (this.isOld(arrived)) return;
    const known = this.open?.reports.get(arrived.report.rank);
    if (this.open?.size === 0) {
      this.open.size = arrived.report.size;
    } else if (this.open && this.open.size !== arrived.report.size) {
      this.close('superseded', at, `a report of ${arrived.pod.name} says that ${arrived.report.size} ranks are tested, not ${this.open.size}`);
    } else if (this.open && known && known.pod.uid !== arrived.pod.uid) {
      if (Date.parse(arrived.writtenAt) <= Date.parse(known.writtenAt)) return;
      this.close('superseded', at, `${arrived.pod.name} is a newer pod of rank ${arrived.report.rank}`);
    } else if (known && Date.parse(arrived.writtenAt) <= Date.parse(known.writtenAt)) {
      return;
    }
    this.open ??= this.newRun(arrived.report.size, arrived.pod, at);
    this.open.reports.set(arrived.report.rank, arrived);
    this.open.lastAt = at;
    this.open.arrived += 1;
  }

  private isOld({ report: { rank }, pod, writtenAt }: CollectedReport): boolean {
    const last = this.counted.get(rank);
    return last !== undefined && (last.pod === pod.uid || Date.parse(writtenAt) <= Date.parse(last.writtenAt));
  }

  private newRun(size: number, pod: CollectedReport['pod'], at: number): OpenRun {
    this.run += 1;
    return { run: this.run, size, pod, startedAt: at, lastAt: at, arrived: 0, reports: new Map(), told: new Set() };
  }
}

const verdictOf = ({ rule, failed, slow, undetermined, counts, confidence, missing }: PreflightDecision): NonNullable<PreflightRun['verdict']> => ({
  rule,
  failed,
  slow,
  undetermined,
  counts,
  confidence,
  missing,
});

const isCount = (value: unknown, below: number): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) < below;
const isTime = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value));

const isCollected = (value: unknown): value is CollectedReport => {
  if (!isObject(value) || !isObject(value['pod']) || !isObject(value['report'])) return false;
  const { pod, report, writtenAt } = value;
  const { size, rank, node, tests } = report;
  return (
    textOf(pod['uid']) !== undefined &&
    textOf(pod['name']) !== undefined &&
    isTime(writtenAt) &&
    isCount(size, preflightLimits.size + 1) &&
    isCount(rank, size) &&
    textOf(node) !== undefined &&
    typeof report['address'] === 'string' &&
    Array.isArray(tests) &&
    tests.length <= preflightLimits.rounds &&
    tests.every((test) => isObject(test) && isCount(test['round'], preflightLimits.rounds) && ['ok', 'fail', 'skip'].includes(String(test['status'])))
  );
};

const isRefused = (value: unknown): value is RefusedReport =>
  isObject(value) &&
  typeof value['rank'] === 'number' &&
  textOf(value['node']) !== undefined &&
  textOf(value['what']) !== undefined &&
  typeof value['because'] === 'string' &&
  isTime(value['at']);

const slim = (refused: RefusedReport): RefusedReport => ({ ...refused, because: refused.because.slice(0, 200) });
