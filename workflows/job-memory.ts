import { blames, type Fault } from '../contract/faults.ts';
import type { JobRef } from '../contract/jobs.ts';
import { outcomes } from '../contract/outcomes.ts';
import type { Held, RecoveryOutcome } from '../contract/recovery.ts';
import {
  type Asked,
  type CarriedJob,
  type Charge,
  historyMs,
  type JobStatus,
  ledgersOf,
  type OpenIncident,
  type RecoveryWish,
  type Spent,
} from '../contract/training-job.ts';
import { iso } from './attributes.ts';
import { isObject, mergeFaults, nodesFirst } from './faults.ts';

/** Bounds, so that what is carried over continue-as-new stays small whatever arrives. */
const most = { inbox: 200, seen: 1000, wishes: 10, spent: 200, perSignal: 100 } as const;

/** Everything a job's workflow remembers: faults that wait, the open incident, what was spent. Plain bookkeeping, no decisions. */
export class JobMemory {
  inbox: Fault[];
  wishes: RecoveryWish[];
  spent: Spent[];
  optedInAt: string;
  readonly historyUntil: string;
  incident: OpenIncident | undefined;
  attemptStartedAt: string | undefined;
  last: CarriedJob['last'];
  waitingSince: number | undefined;
  /** A person has paused this job. */
  paused: Held | undefined;
  /** What people and the open recovery have not heard of yet. */
  readonly pauseNews: (Held & { readonly what: 'paused' | 'resumed' })[] = [];
  asks: CarriedJob['asks'];
  /** A wish came to nothing whose label still stands on the job: whoever finds it later would take it for a new one. */
  labelLeft = false;
  private readonly seen: Set<string>;
  private readonly sent = new Set<string>();
  private dropped: number;
  private arrivals = 0;
  private refusedUntil = 0;
  private waitsForPause = false;

  constructor(carried?: CarriedJob) {
    this.inbox = [...(carried?.inbox ?? [])];
    this.wishes = [...(carried?.wishes ?? [])];
    this.spent = [...(carried?.spent ?? [])];
    this.seen = new Set(carried?.seen);
    this.optedInAt = carried?.optedInAt ?? iso(0);
    this.historyUntil = carried?.historyUntil ?? iso(Date.now() - historyMs);
    this.incident = carried?.open;
    this.attemptStartedAt = carried?.attemptStartedAt;
    this.last = carried?.last;
    this.dropped = carried?.dropped ?? 0;
    this.paused = carried?.paused;
    this.asks = carried?.asks;
    this.waitingSince = this.inbox.length > 0 ? Date.now() : undefined;
  }

  /** Grows with everything that comes from outside: the same mark means no news. */
  mark = (): number => this.arrivals;

  hasWork = (): boolean => this.wishes.length > 0 || (this.inbox.length > 0 && !this.waitsForPause);

  pause(held: Held): Held {
    this.paused = held;
    this.pauseNews.push({ ...held, what: 'paused' });
    this.arrivals += 1;
    return held;
  }

  goOn({ by, reason }: Held): boolean {
    const wasPaused = this.paused !== undefined;
    this.paused = undefined;
    this.waitsForPause = false;
    if (wasPaused) this.pauseNews.push({ by, reason, what: 'resumed' });
    this.arrivals += 1;
    return wasPaused;
  }

  /** What waits was judged, and stays until the pause is over or something new comes. */
  waitForPause(): void {
    this.waitsForPause = this.paused !== undefined;
  }

  /** A full inbox keeps the faults of nodes: hundreds of pods that die together say less than the one node that killed them. */
  take({ faults, dropped }: { faults: Fault[]; dropped: number }): void {
    this.dropped += dropped;
    const fresh = faults.filter((fault) => !this.seen.has(fault.id));
    if (fresh.length === 0) return;
    const blind = (list: readonly Fault[]) => list.filter((fault) => fault.blind !== undefined).length;
    const before = blind(this.inbox);
    const { changed } = mergeFaults(this.inbox, fresh);
    // Who is heard again has the usual time to say what it saw.
    if (blind(this.inbox) < before) this.waitingSince = Date.now();
    this.waitsForPause = false;
    for (const fault of changed) this.sent.delete(fault.id);
    if (this.inbox.length > most.inbox) {
      this.dropped += this.inbox.length - most.inbox;
      this.inbox = nodesFirst(this.inbox).slice(0, most.inbox);
    }
    this.waitingSince ??= Date.now();
    this.arrivals += 1;
  }

  /** A wish while an incident is open, or a second label before the first was removed, asks for what happens already; its label must go all the same. */
  wish(wish: RecoveryWish): void {
    const label = wish.label === true;
    if (label && this.wishes.some((one) => one.label)) return;
    if (this.incident || this.wishes.length >= most.wishes) this.labelLeft ||= label;
    else {
      this.wishes.push({ ...wish, ...(label ? { byLabel: true } : {}) });
      this.arrivals += 1;
    }
  }

  /** The label was removed: none of those who wait has one any more. */
  labelRemoved(): void {
    this.labelLeft = false;
    this.wishes = this.wishes.map(({ by, reason, byLabel }) => ({ by, reason, ...(byLabel ? { byLabel } : {}) }));
  }

  nextWish = (): RecoveryWish | undefined => (this.incident ? undefined : this.wishes[0]);

  /** What the label asked for is refused; what came beside it stays, and so does what a person was promised. */
  refuseRequest(): void {
    this.wishes.shift();
    if (this.incident?.started === false && this.incident.askedBy?.byLabel) this.incident = undefined;
  }

  open(incident: string, since: number, askedBy?: Asked): string {
    const asked = askedBy && { by: askedBy.by, reason: askedBy.reason, ...(askedBy.byLabel ? { byLabel: askedBy.byLabel } : {}) };
    this.incident = { incident, since, started: false, ...(asked ? { askedBy: asked } : {}) };
    this.arrivals += 1;
    return incident;
  }

  /** What a new recovery begins with; a person's wish is a fault of its own. */
  faultsFor(job: JobRef, open: OpenIncident): Fault[] {
    const faults = nodesFirst(this.inbox).slice(0, most.perSignal).map(waitedFor);
    if (!open.askedBy) return faults;
    const { by, reason } = open.askedBy;
    const asked: Fault = {
      id: `operator/${job.uid}/${open.since}`,
      source: 'operator',
      code: 'operator/recover',
      message: `${by} asked: ${reason}`.slice(0, 300),
      seenAt: iso(open.since),
    };
    return [asked, ...faults];
  }

  /** Its recovery runs: what it was given need not be told again, and it counts until its report says otherwise. */
  started(open: OpenIncident, faults: readonly Fault[], charge?: Charge): void {
    this.incident = { ...open, started: true };
    this.labelLeft ||= this.wishes.some(({ label }) => label);
    this.wishes = [];
    this.spent = [...this.spent.filter((one) => one.incident !== open.incident), { incident: open.incident, startedAt: open.since, ...charge }].slice(
      -most.spent,
    );
    this.forwarded(faults);
  }

  forwarded(faults: readonly Fault[]): void {
    for (const fault of faults) this.sent.add(fault.id);
  }

  toForward = (): Fault[] => nodesFirst(this.inbox.filter((fault) => !this.sent.has(fault.id))).slice(0, most.perSignal);

  setAside(ids: readonly string[]): void {
    const aside = new Set(ids);
    this.inbox = this.inbox.filter((fault) => !aside.has(fault.id));
    for (const id of ids) this.remember(id);
    if (this.inbox.length === 0) this.waitingSince = undefined;
  }

  /** Keeps every fault that the recovery did not take into account. A recovery that is known to have begun no stop spent nothing, but for one that the label asked for: it looked, and kept evidence. */
  recoveryEnded(report: RecoveryOutcome, now: number): void {
    if (!isReport(report)) {
      this.dropped += 1;
      return;
    }
    this.setAside(report.faults);
    this.spent = this.spent.flatMap((one) =>
      one.incident !== report.incident ? [one] : report.begun === 0 && !one.byLabel ? [] : [{ ...one, endedAt: now, ...chargeOf(report) }],
    );
    if (report.attemptStartedAt !== undefined) this.attemptStartedAt = report.attemptStartedAt;
    this.arrivals += 1;
    if (this.incident?.incident !== report.incident) return;
    this.last = { incident: report.incident, outcome: report.outcome, because: report.because.slice(0, 500), at: iso(now) };
    this.incident = undefined;
    this.sent.clear();
    this.waitingSince = this.inbox.length > 0 ? now : undefined;
  }

  /** What Temporal still knows when the workflow of a job starts anew. */
  adopt(found: { readonly spent: readonly Spent[]; readonly open?: string }, now: number): void {
    if (this.spent.length === 0) this.spent = found.spent.slice(-most.spent);
    if (found.open !== undefined) this.incident = { incident: found.open, since: now, started: true };
  }

  /** True the first time that this refusal is met. */
  refuse(until: number): boolean {
    const first = this.refusedUntil !== until;
    this.refusedUntil = until;
    return first;
  }

  summary(now: number): Pick<JobStatus, 'incident' | 'last' | 'spentThisHour' | 'ledgers' | 'spent' | 'dropped' | 'paused'> {
    const lately = this.spent.filter((one) => one.startedAt > now - 3_600_000);
    return {
      spentThisHour: lately.length,
      ledgers: ledgersOf(lately),
      spent: this.spent,
      dropped: this.dropped,
      ...(this.incident ? { incident: this.incident.incident } : {}),
      ...(this.last ? { last: this.last } : {}),
      ...(this.paused ? { paused: this.paused } : {}),
    };
  }

  carry(): CarriedJob {
    return {
      optedInAt: this.optedInAt,
      historyUntil: this.historyUntil,
      inbox: this.inbox,
      wishes: this.wishes,
      spent: this.spent,
      seen: [...this.seen],
      dropped: this.dropped,
      ...(this.incident ? { open: this.incident } : {}),
      ...(this.attemptStartedAt === undefined ? {} : { attemptStartedAt: this.attemptStartedAt }),
      ...(this.last ? { last: this.last } : {}),
      ...(this.paused ? { paused: this.paused } : {}),
      ...(this.asks ? { asks: this.asks } : {}),
    };
  }

  private remember(id: string): void {
    this.seen.add(id);
    if (this.seen.size <= most.seen) return;
    const [oldest] = this.seen;
    if (oldest !== undefined) this.seen.delete(oldest);
  }
}

/** The agent of its node had its time to speak; that it did not is a part of the story. */
const waitedFor = ({ blind, ...fault }: Fault): Fault => (blind === undefined ? fault : { ...fault, message: `${fault.message}; ${blind}`.slice(0, 300) });

/** What the recovery knew in the end is truer than what it was charged to at its start. */
const chargeOf = ({ blame, before }: RecoveryOutcome): Charge => ({
  ...(blame !== undefined && (blames as readonly unknown[]).includes(blame) ? { blame } : {}),
  ...(typeof before?.step === 'number' ? { step: before.step } : {}),
  ...(typeof before?.checkpointStep === 'number' ? { checkpointStep: before.checkpointStep } : {}),
});

const isReport = (report: unknown): report is RecoveryOutcome =>
  isObject(report) &&
  typeof report['incident'] === 'string' &&
  typeof report['because'] === 'string' &&
  (outcomes as readonly unknown[]).includes(report['outcome']) &&
  Array.isArray(report['faults']) &&
  report['faults'].every((id) => typeof id === 'string');
