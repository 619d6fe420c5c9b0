import { type CollectedReport, type NodeShare, type PreflightDecision, preflightLimits, type TestingPod } from '../contract/preflight.ts';
import type { RefusedReport } from '../contract/preflight-files.ts';
import type { ContinuedPreflight, PreflightRun } from '../contract/preflight-runs.ts';
import { iso } from './attributes.ts';
import { isObject, textOf } from './faults.ts';

/** Bounds: refusals kept for people to see, ranks that are listed, and what may wait. */
const most = { refused: 20, ranks: 50, inbox: 20_000 } as const;

/** Reports of one set of pods, the newest of each rank. */
export interface OpenRun {
  readonly run: number;
  /** 0 until a report has arrived. */
  size: number;
  readonly startedAt: number;
  /** When a rank reported for the first time most recently, ms. */
  lastAt: number;
  readonly reports: Map<number, CollectedReport>;
  /** The first pod of the set that was seen. */
  readonly pod: TestingPod;
  /** Ranks that had reported at the last partial verdict: without another report, the next would be the same. */
  readonly looked: Set<number>;
  /** Nodes that were notified already, or given up. */
  readonly notified: Set<string>;
  /** Nodes that were given up, each with the reason. */
  readonly unnotified: Map<string, string>;
}

/** What waits to be sorted: reports, and notices that a set of pods is testing. */
type Arrived = { readonly at: number } & ({ readonly report: CollectedReport } | { readonly testing: TestingPod });

/** Everything a collection remembers. Plain bookkeeping, no decisions. */
export class PreflightState {
  open: OpenRun | undefined;
  last: PreflightRun | undefined;
  refused: RefusedReport[];
  dropped: number;
  /** Why the open run is over before it is complete; what comes next waits until it was judged. */
  superseded: string | undefined;
  private run: number;
  /** By rank: what counted in the last run. */
  private counted: Map<number, ContinuedPreflight['counted'][number]>;
  private testing: TestingPod | undefined;
  /** The set of pods for which the open run is over. */
  private next: TestingPod | undefined;
  private inbox: Arrived[] = [];

  constructor(continued: ContinuedPreflight | undefined) {
    this.run = continued?.run ?? 0;
    this.last = continued?.last;
    this.counted = new Map(continued?.counted.map((one) => [one.rank, one]));
    this.testing = continued?.testing;
    this.refused = [...(continued?.refused ?? [])];
    this.dropped = continued?.dropped ?? 0;
  }

  /** Keeps the usable part of a signal, and counts the rest. */
  take(payload: unknown, at: number): void {
    const listed = isObject(payload) && Array.isArray(payload['reports']) ? payload['reports'] : [];
    const usable = listed.filter(isCollected).slice(0, Math.max(0, most.inbox - this.inbox.length));
    this.inbox.push(...usable.map((report) => ({ report, at })));
    this.dropped += listed.length - usable.length;
    const refusals = isObject(payload) && Array.isArray(payload['refused']) ? payload['refused'] : [];
    this.refuse(...refusals.filter(isRefused).map(slim));
  }

  /** Pods are testing: their reports are expected from now on, even if none ever comes. */
  expect(payload: unknown, at: number): void {
    const pod = isObject(payload) ? payload['pod'] : undefined;
    if (isPod(pod)) this.inbox.push({ testing: pod, at });
    else this.dropped += 1;
  }

  hasWork = (): boolean => this.inbox.length > 0;

  /** Sorts what waits into the open run, until that is complete or superseded; the rest belongs to the next run. */
  sort(): void {
    while (!this.isComplete() && this.superseded === undefined) {
      const [next] = this.inbox;
      if (next === undefined) return;
      const why = 'testing' in next ? this.begin(next.testing, next.at) : this.place(next.report, next.at);
      if (why !== undefined && this.open) this.superseded = why;
      else this.inbox.shift();
    }
  }

  isComplete = (): boolean => this.open !== undefined && this.open.size > 0 && this.open.reports.size >= this.open.size;

  /** Whether a report says that its own node is broken, that node was not notified yet, and has reported since the last partial verdict. */
  cannotWait(): boolean {
    const { open } = this;
    if (open === undefined) return false;
    const reports = [...open.reports.values()].map(({ report }) => report);
    const broken = new Set(reports.filter(({ failed = [], node }) => failed.length > 0 && !open.notified.has(node)).map(({ node }) => node));
    return reports.some(({ rank, node }) => broken.has(node) && !open.looked.has(rank));
  }

  /** Closes the open run. Reports of the set that is testing now move to the next run. */
  close(outcome: PreflightRun['outcome'], at: number, because: string, decision?: PreflightDecision): PreflightRun | undefined {
    const { open } = this;
    if (open === undefined) return undefined;
    this.open = undefined;
    this.superseded = undefined;
    const { next } = this;
    const [kept, done] = [[], []] as [CollectedReport[], CollectedReport[]];
    for (const one of open.reports.values()) (next && !isOlder(one.pod, next) ? kept : done).push(one);
    this.next = undefined;
    this.counted = new Map(done.map(({ report: { rank }, pod: { uid, createdAt }, writtenAt }) => [rank, { rank, uid, createdAt, writtenAt }]));
    this.last = {
      run: open.run,
      startedAt: iso(open.startedAt),
      endedAt: iso(at),
      outcome,
      received: open.reports.size,
      expected: open.size,
      because: `${because}${notNotified(open)}`,
      ...(decision && open.size > 0 ? { verdict: verdictOf(decision) } : {}),
      ...(open.unnotified.size > 0 ? { unnotified: [...open.unnotified.keys()].slice(0, most.ranks) } : {}),
    };
    if (kept.length > 0) this.goOn(open, kept, at);
    return this.last;
  }

  /** Of the open run, or of the last. */
  progress(): { readonly run: number; readonly received: number; readonly expected: number; readonly missing: readonly number[] } {
    const { open, last } = this;
    if (open === undefined) return { run: this.run, received: last?.received ?? 0, expected: last?.expected ?? 0, missing: last?.verdict?.missing ?? [] };
    const missing = Array.from({ length: open.size }, (_, rank) => rank).filter((rank) => !open.reports.has(rank));
    return { run: open.run, received: open.reports.size, expected: open.size, missing: missing.slice(0, most.ranks) };
  }

  /** Only between two runs: thousands of reports would not fit into one payload. */
  continueAsNewState(): ContinuedPreflight {
    return {
      run: this.run,
      counted: [...this.counted.values()],
      refused: this.refused,
      dropped: this.dropped,
      ...(this.testing ? { testing: this.testing } : {}),
      ...(this.last ? { last: this.last } : {}),
    };
  }

  /** A set of pods is testing. Returns why that ends the open run, if it does: the run holds reports of an earlier set. */
  private begin(pod: TestingPod, at: number): string | undefined {
    if (pod.uid === this.testing?.uid || [...this.counted.values()].some((one) => one.uid === pod.uid)) return undefined;
    const older = [...(this.open?.reports.values() ?? [])].some((one) => isOlder(one.pod, pod));
    if (older) {
      this.next = pod;
      return `${pod.name} and its set of pods are newer`;
    }
    this.testing = pod;
    this.open ??= this.newRun(0, pod, at);
    return undefined;
  }

  /** Returns why a report ends the open run, if it does: a newer pod stands at a rank that has reported. */
  private place(arrived: CollectedReport, at: number): string | undefined {
    const { report, pod } = arrived;
    const known = this.open?.reports.get(report.rank);
    if (this.isOld(arrived) || (known && isOlder(pod, known.pod))) return undefined;
    if (known && known.pod.uid !== pod.uid) return `${pod.name} is a newer pod of rank ${report.rank}`;
    if (known && Date.parse(arrived.writtenAt) <= Date.parse(known.writtenAt)) return undefined;
    this.open ??= this.newRun(report.size, pod, at);
    if (this.open.size === 0) this.open.size = report.size;
    if (this.open.size !== report.size) {
      const because = `it says that ${report.size} ranks are tested, and others say ${this.open.size}`;
      this.refuse({ rank: report.rank, node: report.node, what: 'workload_size', because, at: iso(at) });
      return undefined;
    }
    this.open.reports.set(report.rank, arrived);
    this.open.looked.delete(report.rank);
    // Only new ranks count as activity: a rank that crashes for ever must not keep a run open.
    if (!known) this.open.lastAt = at;
    return undefined;
  }

  /** Of an earlier set, or of a pod whose run is over. A new report of a pod that was not judged, or is broken now, opens the next run. */
  private isOld({ report, pod, writtenAt }: CollectedReport): boolean {
    if (this.testing && isOlder(pod, this.testing)) return true;
    const last = this.counted.get(report.rank);
    if (last === undefined) return false;
    if (last.uid !== pod.uid) return isOlder(pod, last);
    const isNewer = Date.parse(writtenAt) > Date.parse(last.writtenAt) && (this.last?.outcome !== 'judged' || (report.failed?.length ?? 0) > 0);
    return !isNewer;
  }

  /** Reports that pods of the next set have already sent open the next run, and nodes that were notified stay so. */
  private goOn({ size, notified, unnotified }: OpenRun, kept: readonly CollectedReport[], at: number): void {
    const [first] = kept;
    if (first === undefined) return;
    const reports = new Map(kept.map((one) => [one.report.rank, one]));
    this.open = { ...this.newRun(size, first.pod, at), reports, notified: new Set(notified), unnotified: new Map(unnotified) };
  }

  private newRun(size: number, pod: TestingPod, at: number): OpenRun {
    this.run += 1;
    return { run: this.run, size, pod, startedAt: at, lastAt: at, reports: new Map(), looked: new Set(), notified: new Set(), unnotified: new Map() };
  }

  private refuse(...refused: readonly RefusedReport[]): void {
    this.refused = [...this.refused, ...refused].slice(-most.refused);
  }
}

/** The first few of them. */
export const named = (nodes: readonly string[]): string => `${nodes.slice(0, 5).join(', ')}${nodes.length > 5 ? ` and ${nodes.length - 5} more` : ''}`;

/** What people must handle themselves, as the end of a sentence. */
export function notNotified({ unnotified }: Pick<OpenRun, 'unnotified'>): string {
  const [why] = unnotified.values();
  return why === undefined ? '' : `; ${named([...unnotified.keys()])} could not be notified, so no quarantine follows: ${why}`;
}

/** Created in an earlier second: timestamps have a resolution of 1 s, so ties are undecidable. */
const isOlder = (one: Pick<TestingPod, 'createdAt'>, other: Pick<TestingPod, 'createdAt'>): boolean => Date.parse(one.createdAt) < Date.parse(other.createdAt);

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

const isPod = (value: unknown): value is TestingPod =>
  isObject(value) && textOf(value['uid']) !== undefined && textOf(value['name']) !== undefined && isTime(value['createdAt']);

const isCollected = (value: unknown): value is CollectedReport => {
  if (!isObject(value) || !isPod(value['pod']) || !isObject(value['report']) || !isTime(value['writtenAt'])) return false;
  const { size, rank, node, address, tests } = value['report'];
  return (
    isShare(value['share']) &&
    isCount(size, preflightLimits.size + 1) &&
    isCount(rank, size) &&
    textOf(node) !== undefined &&
    typeof address === 'string' &&
    Array.isArray(tests) &&
    tests.length <= preflightLimits.rounds &&
    tests.every((test) => isObject(test) && isCount(test['round'], preflightLimits.rounds) && ['ok', 'fail', 'skip'].includes(String(test['status'])))
  );
};

const isShare = (value: unknown): value is NodeShare => isObject(value) && isAmount(value['asked']) && isAmount(value['of']);
const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0;

const isRefused = (value: unknown): value is RefusedReport =>
  isObject(value) &&
  typeof value['rank'] === 'number' &&
  textOf(value['node']) !== undefined &&
  textOf(value['what']) !== undefined &&
  typeof value['because'] === 'string' &&
  isTime(value['at']);

const slim = (refused: RefusedReport): RefusedReport => ({ ...refused, because: refused.because.slice(0, 200) });
