import type { Evidence, EvidenceRequest } from '../../contract/evidence.ts';
import type { Fault } from '../../contract/faults.ts';
import type { AttemptPod } from '../../contract/jobs.ts';
import type { OperatorRequest } from '../../contract/messages.ts';
import type { JobProgress } from '../../contract/progress.ts';
import type { CheckpointResult } from '../../contract/recovery-plan.ts';
import { type AttemptFacts, type IncidentRecord, podCount, type RecoveryDecision, type RecoveryFacts, type RecoveryOutcome } from '../../contract/recovery.ts';
import { mergeFaults, nodesFirst, nodesOf, takeFaults } from '../faults.ts';
import { podTrimmer, withoutManyPods } from './record-pods.ts';
import { CapacityState } from './capacity-state.ts';

/** Bounds of what one incident keeps. */
const most = { faults: 300, decisions: 50, looksForAge: 3 } as const;

/** A job that was left alone for longer than this has saved since. ms */
const longMs = 60_000;

type Stop = IncidentRecord['stops'][number];

type RecordFields = Omit<IncidentRecord, 'schema' | 'incident' | 'job' | 'outcome' | 'because' | 'startedAt' | 'endedAt' | 'approvals' | 'timeline'>;

/** What one incident knows: its faults and which of them are handled, its stops, its decisions. Plain bookkeeping. */
export class IncidentState {
  readonly faults: Fault[];
  readonly stops: Stop[] = [];
  readonly decisions: RecoveryDecision[] = [];
  /** Stops that were begun, whatever their result. */
  stopsStarted = 0;
  /** Evidence of attempts, captured before their stop. */
  readonly evidence: Evidence[] = [];
  /** Progress before the first stop, and after the last. */
  progress: { readonly before?: JobProgress; readonly after?: JobProgress } = {};
  /** Levels that did not bring training back. */
  readonly tried: NonNullable<RecoveryFacts['tried']>[number][] = [];
  readonly capacity = new CapacityState();
  readonly checkpoints: (CheckpointResult & { readonly attempt: number })[] = [];
  resized: IncidentRecord['pods'];
  /** kcover may have suspended the job. */
  suspended = false;
  /** A person has paused the job. */
  paused: OperatorRequest | undefined;
  /** Pods that kept running beside those of the last stop, by UID. */
  remaining: readonly string[] = [];
  private readonly startedSteps = new Set<string>();
  /** A checkpoint of this attempt was seen, or missed. */
  private isSaved = false;
  private checkpointDeadline: number | undefined;
  private looksForAge = 0;
  private readonly handled = new Set<string>();
  private readonly stoppedPods = new Set<string>();
  private looked: readonly Fault[] = [];
  private forcing: readonly AttemptPod[] = [];
  private arrivals = 0;

  constructor(faults: readonly Fault[]) {
    this.faults = [...faults];
  }

  /** Grows with every new fault, and with every change of a known one. */
  revision = (): number => this.arrivals;

  newRevision(): void {
    this.arrivals += 1;
  }

  /** Takes the faults of a signal; returns those that are new. */
  take(payload: unknown): readonly Fault[] {
    const free = most.faults - this.faults.length;
    const known = new Set(this.faults.map((fault) => fault.id));
    const { added, changed } = mergeFaults(
      this.faults,
      takeFaults(payload).faults.filter((fault, index) => index < free || known.has(fault.id)),
    );
    if (added.length + changed.length > 0) this.newRevision();
    return added;
  }

  nodes = (): string[] => nodesOf(this.faults);

  /** Faults that no decision has handled yet; a stop handles those of the pods it removes. */
  unhandled = (): Fault[] => nodesFirst(this.faults.filter((fault) => !this.handled.has(fault.id) && !(fault.pod && this.stoppedPods.has(fault.pod.uid))));

  handledFaults = (): Fault[] => this.faults.filter((fault) => this.handled.has(fault.id));

  /** Begins a look: only these faults can be handled by the decision that follows. */
  look(): { readonly fresh: readonly Fault[]; readonly nodes: readonly string[]; readonly pods: readonly string[] } {
    this.looked = [...this.faults];
    return { fresh: this.unhandled(), nodes: this.nodes(), pods: [...new Set(this.faults.flatMap(({ pod }) => pod?.uid ?? []))] };
  }

  answer(faults: readonly Fault[]): void {
    for (const fault of faults) this.handled.add(fault.id);
  }

  decided(decision: RecoveryDecision): void {
    this.decisions.push(decision);
    if (this.decisions.length > most.decisions) this.decisions.shift();
  }

  /** `terminating`: pods that went with the attempt, though somebody else had deleted them. */
  stopped(stop: Stop, terminating: readonly AttemptPod[]): void {
    for (const pod of [...stop.pods, ...terminating]) this.stoppedPods.add(pod.uid);
    this.stops.push(stop);
    this.forcing = [];
    this.capacity.stopped();
    this.looksForAge = 0;
    // The whole job was stopped after a gentler level failed, which answers that failure.
    this.tried.length = 0;
    this.forgetCheckpoint();
  }

  /** How the last stop was done. */
  stoppedBy(): Pick<RecoveryFacts, 'stoppedBy'> {
    const by = this.stops.at(-1)?.by;
    return by ? { stoppedBy: by } : {};
  }

  /** Pods of this attempt that may be deleted by force, less those where that was not needed. */
  forcedNow = (): AttemptPod[] => [...this.forcing];
  /** Of all attempts, including a stop that was never finished. */
  forcedEver = (): AttemptPod[] => [...this.stops.flatMap(({ forced = [] }) => forced), ...this.forcing];

  mayForce(pods: readonly AttemptPod[]): void {
    const known = new Set(this.forcing.map(({ uid }) => uid));
    this.forcing = [...this.forcing, ...pods.filter(({ uid }) => !known.has(uid))];
  }

  wasForced(pods: readonly AttemptPod[]): void {
    this.forcing = [...pods];
  }

  /** Progress before the first stop; later steps belong to another attempt. */
  sees(progress: JobProgress | undefined): void {
    if (progress && this.stops.length === 0 && progress.step >= (this.progress.before?.step ?? 0)) this.progress = { before: progress };
  }

  /** Whether a step is begun for the first time in this attempt. */
  isFirst(step: string): boolean {
    const key = `${step}#${this.stops.length + 1}`;
    if (this.startedSteps.has(key)) return false;
    this.startedSteps.add(key);
    return true;
  }

  /** The deadline of the wait for a checkpoint, ms: it may move earlier, never later. `over`: one was seen or missed before, or the job waits for capacity. */
  checkpointUntil(until: number): number | 'over' {
    if (this.isSaved || this.capacity.isShort) return 'over';
    this.checkpointDeadline = Math.min(until, this.checkpointDeadline ?? Infinity);
    return this.checkpointDeadline;
  }

  checkpointSeen(attempt: number, result: CheckpointResult): void {
    this.checkpoints.push({ ...result, attempt });
    this.isSaved = attempt > this.stops.length;
  }

  /** The job has trained for long since: the next checkpoint counts. */
  forgetCheckpoint(): void {
    this.isSaved = false;
    this.checkpointDeadline = undefined;
  }

  /** The job was left alone for this long, ms: capacity is looked up again, and after long the next checkpoint counts. */
  addHeldTime(ms: number): void {
    if (ms > 0) this.capacity.forget();
    if (ms > longMs) this.forgetCheckpoint();
    this.capacity.putOff(ms);
  }

  /** Tries the broken pods alone first again; false when they had not been passed over. */
  podsFirstAgain(): boolean {
    if (this.tried.at(-1)?.noCapacity !== true) return false;
    this.tried.pop();
    return true;
  }

  /** Whether the facts are too old for a stop; true only a few times, because every look may take long. */
  looksAgainForAge(): boolean {
    this.looksForAge += 1;
    return this.looksForAge <= most.looksForAge;
  }

  /**
   * Every pod of this attempt, each UID once: failed pods, then pods on blamed nodes, then the others. A failed pod may have ended or be gone,
   * so that a look does not find it. Pods that an earlier stop removed are left out.
   */
  failingFirst({ pods, terminating = [] }: Pick<AttemptFacts, 'pods' | 'terminating'>): AttemptPod[] {
    const named = this.faults.flatMap(({ pod, node }): AttemptPod[] => (pod ? [{ name: pod.name, uid: pod.uid, ...(node !== undefined && { node }) }] : []));
    const each = new Map([...named, ...terminating, ...pods].map((pod) => [pod.uid, pod]));
    const [failed, blamed] = [new Set(named.map(({ uid }) => uid)), new Set(this.nodes())];
    const rank = ({ uid, node = '' }: AttemptPod) => (failed.has(uid) ? 0 : blamed.has(node) ? 1 : 2);
    return [...each.values()].filter(({ uid }) => !this.stoppedPods.has(uid)).toSorted((a, b) => rank(a) - rank(b));
  }

  /** Kernel log lines that agents sent with their faults. */
  kernelLines = (): NonNullable<EvidenceRequest['kernel']> =>
    this.faults.flatMap(({ node, evidence }) => (node !== undefined && evidence ? [{ node, lines: evidence }] : []));

  /** What the report of an incident counts. */
  counts = (): Pick<RecoveryOutcome, 'stops' | 'stopsStarted'> => ({ stops: this.stops.length, stopsStarted: this.stopsStarted });

  /** The blame of all faults, from the last decision, and the progress before the first stop. */
  attribution(): Pick<RecoveryOutcome, 'blame' | 'before'> {
    const { blame } = this.decisions.at(-1) ?? {};
    const { before } = this.progress;
    return { ...(blame ? { blame } : {}), ...(before ? { before } : {}) };
  }

  /** What the record of an incident keeps. Pods of large attempts are listed once, and then only counted. */
  document(running: readonly AttemptPod[], runningOf?: number): RecordFields {
    const keep = podTrimmer();
    const stops = this.stops.map(({ forced, ...stop }) => ({ ...stop, ...keep(stop.pods), ...(forced && { forced: keep(forced).pods }) }));
    const { pods: runningPods, of: ofRunning } = keep(running, runningOf);
    const { pods: forced, of: forcedOf } = keep(this.forcedEver());
    return {
      faults: this.faults,
      decisions: this.decisions.map(withoutManyPods),
      stops,
      runningPods,
      ...(ofRunning !== undefined && { runningOf: ofRunning }),
      ...(forced.length > 0 && { forced }),
      ...(forcedOf !== undefined && { forcedOf }),
      ...(this.evidence.length > 0 ? { evidence: this.evidence } : {}),
      ...(this.progress.before ? { progress: this.progress } : {}),
      ...(this.checkpoints.length > 0 ? { checkpoints: this.checkpoints } : {}),
      ...(this.capacity.decisions.length > 0 ? { capacity: this.capacity.decisions } : {}),
      ...(this.resized ? { pods: this.resized } : {}),
    };
  }

  stoppedUids = (): string[] => [...this.stoppedPods];

  /** Ids of faults that a stop has handled, whatever the outcome. */
  handledIds = (): string[] => this.faults.filter(({ id, pod }) => this.handled.has(id) || (pod && this.stoppedPods.has(pod.uid))).map(({ id }) => id);

  /** Ids that this incident took into account: the last look saw them and, when the job runs, they need nothing more. */
  coveredIds(running: boolean): string[] {
    const left = new Set(running ? this.unhandled().map((fault) => fault.id) : []);
    const went = this.faults.filter(({ pod }) => pod && this.stoppedPods.has(pod.uid));
    return [...new Set([...this.looked, ...went].map((fault) => fault.id))].filter((id) => !left.has(id));
  }
}

/** The pods of an attempt in words: `4 pods`. */
export const counted = (attempt: Pick<AttemptFacts, 'pods' | 'more'>): string => (podCount(attempt) === 1 ? '1 pod' : `${podCount(attempt)} pods`);

/** `xid/79 on gpu-3: GPU has fallen off the bus` */
export const sentence = ({ code, node, message }: Fault): string => `${code}${node ? ` on ${node}` : ''}: ${message}`;

/** A warning about pods that were deleted by force; empty when there were none. */
export const notProvenDead = (forced: readonly AttemptPod[]): string =>
  forced.length === 0 ? '' : ` (${counted({ pods: forced })} deleted by force on ${nodesUnder(forced)}: the old processes are not proven dead)`;

const nodesUnder = (pods: readonly AttemptPod[]): string => [...new Set(pods.map(({ node }) => node ?? 'no node'))].toSorted().join(', ');
