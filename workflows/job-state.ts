import { blames, type Fault } from '../contract/faults.ts';
import type { JobRef } from '../contract/jobs.ts';
import { outcomes } from '../contract/outcomes.ts';
import type { OperatorRequest } from '../contract/messages.ts';
import type { RecoveryOutcome } from '../contract/recovery.ts';
import {
  type RequestedBy,
  type ContinuedJob,
  type BudgetAttribution,
  historyMs,
  type JobStatus,
  usageByCategoryOf,
  type OpenIncident,
  type RecoveryRequest,
  type BudgetEntry,
} from '../contract/training-job.ts';
import { iso } from './attributes.ts';
import { isObject, mergeFaults, nodesFirst } from './faults.ts';

/** Bounds, so that the state for continue-as-new stays small whatever arrives. */
const most = { inbox: 200, seen: 1000, requests: 10, usage: 200, perSignal: 100 } as const;

/** Everything a job's workflow remembers: waiting faults, the open incident, budget usage. Plain bookkeeping, no decisions. */
export class JobState {
  inbox: Fault[];
  requests: RecoveryRequest[];
  usage: BudgetEntry[];
  optedInAt: string;
  readonly historyUntil: string;
  incident: OpenIncident | undefined;
  attemptStartedAt: string | undefined;
  last: ContinuedJob['last'];
  waitingSince: number | undefined;
  /** A person has paused this job. */
  paused: OperatorRequest | undefined;
  /** Pauses and resumes that people and the open recovery are not yet notified of. */
  readonly pauseChanges: (OperatorRequest & { readonly what: 'paused' | 'resumed' })[] = [];
  overrides: ContinuedJob['overrides'];
  /** The label of a request that came to nothing still stands on the job: a later run would take it for a new request. */
  labelLeft = false;
  private readonly seen: Set<string>;
  private readonly sent = new Set<string>();
  private dropped: number;
  private arrivals = 0;
  private refusedUntil = 0;
  private waitsForPause = false;

  constructor(continued?: ContinuedJob) {
    this.inbox = [...(continued?.inbox ?? [])];
    this.requests = [...(continued?.requests ?? [])];
    this.usage = [...(continued?.usage ?? [])];
    this.seen = new Set(continued?.seen);
    this.optedInAt = continued?.optedInAt ?? iso(0);
    this.historyUntil = continued?.historyUntil ?? iso(Date.now() - historyMs);
    this.incident = continued?.open;
    this.attemptStartedAt = continued?.attemptStartedAt;
    this.last = continued?.last;
    this.dropped = continued?.dropped ?? 0;
    this.paused = continued?.paused;
    this.overrides = continued?.overrides;
    this.waitingSince = this.inbox.length > 0 ? Date.now() : undefined;
  }

  /** Grows with everything that comes from outside: an equal revision means no change. */
  revision = (): number => this.arrivals;

  hasWork = (): boolean => this.requests.length > 0 || (this.inbox.length > 0 && !this.waitsForPause);

  pause(held: OperatorRequest): OperatorRequest {
    this.paused = held;
    this.pauseChanges.push({ ...held, what: 'paused' });
    this.arrivals += 1;
    return held;
  }

  goOn({ by, reason }: OperatorRequest): boolean {
    const wasPaused = this.paused !== undefined;
    this.paused = undefined;
    this.waitsForPause = false;
    if (wasPaused) this.pauseChanges.push({ by, reason, what: 'resumed' });
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
    const unobservable = (list: readonly Fault[]) => list.filter((fault) => fault.unobservable !== undefined).length;
    const before = unobservable(this.inbox);
    const { changed } = mergeFaults(this.inbox, fresh);
    // A node that can be observed again has the usual time to report what it saw.
    if (unobservable(this.inbox) < before) this.waitingSince = Date.now();
    this.waitsForPause = false;
    for (const fault of changed) this.sent.delete(fault.id);
    if (this.inbox.length > most.inbox) {
      this.dropped += this.inbox.length - most.inbox;
      this.inbox = nodesFirst(this.inbox).slice(0, most.inbox);
    }
    this.waitingSince ??= Date.now();
    this.arrivals += 1;
  }

  /** A request while an incident is open, or a second label before the first was removed, asks for what already happens; its label must still be removed. */
  takeRequest(request: RecoveryRequest): void {
    const label = request.label === true;
    if (label && this.requests.some((one) => one.label)) return;
    if (this.incident || this.requests.length >= most.requests) this.labelLeft ||= label;
    else {
      this.requests.push({ ...request, ...(label ? { byLabel: true } : {}) });
      this.arrivals += 1;
    }
  }

  /** The label was removed: no waiting request has one any more. */
  labelRemoved(): void {
    this.labelLeft = false;
    this.requests = this.requests.map(({ by, reason, byLabel }) => ({ by, reason, ...(byLabel ? { byLabel } : {}) }));
  }

  nextRequest = (): RecoveryRequest | undefined => (this.incident ? undefined : this.requests[0]);

  /** Refuses what the label asked for. Other requests stay, and so does what a person was promised. */
  refuseRequest(): void {
    this.requests.shift();
    if (this.incident?.started === false && this.incident.askedBy?.byLabel) this.incident = undefined;
  }

  open(incident: string, since: number, askedBy?: RequestedBy): string {
    const asked = askedBy && { by: askedBy.by, reason: askedBy.reason, ...(askedBy.byLabel ? { byLabel: askedBy.byLabel } : {}) };
    this.incident = { incident, since, started: false, ...(asked ? { askedBy: asked } : {}) };
    this.arrivals += 1;
    return incident;
  }

  /** The faults that a new recovery begins with; a person's request is a fault of its own. */
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

  /** Its recovery runs: the faults it began with need not be sent again, and it counts against the budget until its report says otherwise. */
  started(open: OpenIncident, faults: readonly Fault[], attribution?: BudgetAttribution): void {
    this.incident = { ...open, started: true };
    this.labelLeft ||= this.requests.some(({ label }) => label);
    this.requests = [];
    this.usage = [...this.usage.filter((one) => one.incident !== open.incident), { incident: open.incident, startedAt: open.since, ...attribution }].slice(
      -most.usage,
    );
    this.forwarded(faults);
  }

  forwarded(faults: readonly Fault[]): void {
    for (const fault of faults) this.sent.add(fault.id);
  }

  toForward = (): Fault[] => nodesFirst(this.inbox.filter((fault) => !this.sent.has(fault.id))).slice(0, most.perSignal);

  dismiss(ids: readonly string[]): void {
    const dismissed = new Set(ids);
    this.inbox = this.inbox.filter((fault) => !dismissed.has(fault.id));
    for (const id of ids) this.remember(id);
    if (this.inbox.length === 0) this.waitingSince = undefined;
  }

  /** Keeps every fault that the recovery did not take into account. A recovery that began no stop does not count against the budget, unless the label asked for it: it looked, and captured evidence. */
  recoveryEnded(report: RecoveryOutcome, now: number): void {
    if (!isReport(report)) {
      this.dropped += 1;
      return;
    }
    this.dismiss(report.faults);
    this.usage = this.usage.flatMap((one) =>
      one.incident !== report.incident ? [one] : report.stopsStarted === 0 && !one.byLabel ? [] : [{ ...one, endedAt: now, ...attributionOf(report) }],
    );
    if (report.attemptStartedAt !== undefined) this.attemptStartedAt = report.attemptStartedAt;
    this.arrivals += 1;
    if (this.incident?.incident !== report.incident) return;
    this.last = { incident: report.incident, outcome: report.outcome, because: report.because.slice(0, 500), at: iso(now) };
    this.incident = undefined;
    this.sent.clear();
    this.waitingSince = this.inbox.length > 0 ? now : undefined;
  }

  /** Takes what Temporal still knows when the workflow of a job starts anew. */
  adopt(found: { readonly usage: readonly BudgetEntry[]; readonly open?: string }, now: number): void {
    if (this.usage.length === 0) this.usage = found.usage.slice(-most.usage);
    if (found.open !== undefined) this.incident = { incident: found.open, since: now, started: true };
  }

  /** True the first time that this refusal occurs. */
  refuse(until: number): boolean {
    const first = this.refusedUntil !== until;
    this.refusedUntil = until;
    return first;
  }

  summary(now: number): Pick<JobStatus, 'incident' | 'last' | 'recoveriesThisHour' | 'usageByCategory' | 'usage' | 'dropped' | 'paused'> {
    const lately = this.usage.filter((one) => one.startedAt > now - 3_600_000);
    return {
      recoveriesThisHour: lately.length,
      usageByCategory: usageByCategoryOf(lately),
      usage: this.usage,
      dropped: this.dropped,
      ...(this.incident ? { incident: this.incident.incident } : {}),
      ...(this.last ? { last: this.last } : {}),
      ...(this.paused ? { paused: this.paused } : {}),
    };
  }

  continueAsNewState(): ContinuedJob {
    return {
      optedInAt: this.optedInAt,
      historyUntil: this.historyUntil,
      inbox: this.inbox,
      requests: this.requests,
      usage: this.usage,
      seen: [...this.seen],
      dropped: this.dropped,
      ...(this.incident ? { open: this.incident } : {}),
      ...(this.attemptStartedAt === undefined ? {} : { attemptStartedAt: this.attemptStartedAt }),
      ...(this.last ? { last: this.last } : {}),
      ...(this.paused ? { paused: this.paused } : {}),
      ...(this.overrides ? { overrides: this.overrides } : {}),
    };
  }

  private remember(id: string): void {
    this.seen.add(id);
    if (this.seen.size <= most.seen) return;
    const [oldest] = this.seen;
    if (oldest !== undefined) this.seen.delete(oldest);
  }
}

/** The node's agent had its time to report; the message says that it did not. */
const waitedFor = ({ unobservable, ...fault }: Fault): Fault =>
  unobservable === undefined ? fault : { ...fault, message: `${fault.message}; ${unobservable}`.slice(0, 300) };

/** What the recovery knew at its end is more accurate than the attribution at its start. */
const attributionOf = ({ blame, before }: RecoveryOutcome): BudgetAttribution => ({
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
