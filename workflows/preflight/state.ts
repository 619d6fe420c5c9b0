/** The state of a collection of preflight reports: one run after the other. Pure. */

import type { Announcement, ObservedWorkload } from '../../contract/wire/activities.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import type { CollectedReport, PreflightDecision, TestingPod } from '../../contract/preflight/preflight.ts';
import type { RefusedReport } from '../../contract/preflight/files.ts';
import type { PreflightNote, PreflightRun, PreflightStatus } from '../../contract/preflight/runs.ts';

/**
 * `waiting`: no run is open. `observing`: the workload is looked up, because no pod of it seems to be left, or nothing has arrived for long.
 * `opening`: a run has begun, and how long it may collect is being decided. `collecting`: reports of the open run are awaited. `judging`: the
 * verdict is being made. `notifying`: the workflows of its nodes are being notified. `closing`: what follows for the job is looked up, for the
 * sentence that people read. `reporting`: the job and people are notified.
 */
export type PreflightState = PreflightData &
  (
    | { readonly phase: 'waiting' }
    | { readonly phase: 'observing'; readonly open?: OpenRun | undefined }
    | { readonly phase: 'opening'; readonly open: OpenRun }
    | { readonly phase: 'collecting'; readonly open: OpenRun & { readonly deadlines: Deadlines } }
    | (Judging & { readonly phase: 'judging' })
    | (Judged & Notifying & { readonly phase: 'notifying' })
    | (Judged & { readonly phase: 'closing' })
    /** `open`: the run that goes on, or the next, to which reports of the last have moved. */
    | { readonly phase: 'reporting'; readonly report: Report; readonly open?: OpenRun | undefined }
    | { readonly phase: 'ended'; readonly over: WorkloadOver }
  );

export interface PreflightData {
  /** Number of the newest run. */
  readonly run: number;
  readonly last: PreflightRun | undefined;
  /** Reports that counted in the last run, each rank once: further and older reports of these pods belong to no later run. */
  readonly counted: readonly CountedReport[];
  /** The pod of the last `podsTesting`. */
  readonly testing: TestingPod | undefined;
  /** What arrived and is not sorted into a run yet. */
  readonly inbox: readonly Arrived[];
  readonly refused: readonly RefusedReport[];
  readonly dropped: number;
  /** No pod of the workload seems to be left: it is to be looked up. */
  readonly podsGone: boolean;
  /** The workload was seen to be over: the workflow ends when no run is open. */
  readonly over: WorkloadOver | undefined;
  /** Slow or broken nodes that were found last, and the fault of the first. */
  readonly found: { readonly nodes: readonly string[]; readonly fault: string } | undefined;
  /** Checks whether the workload still exists, while nothing arrives. */
  readonly idle: DueTimer | undefined;
  /** Since when people have been shown the same phase, ms. */
  readonly since: number;
  /** Number of the effect that answers next. An answer with another number came twice or too late. */
  readonly effect: number;
}

/** Reports of one set of pods, the newest of each rank. */
export interface OpenRun {
  readonly run: number;
  /** 0 until a report has arrived. */
  readonly size: number;
  readonly startedAt: number;
  /** When a rank reported for the first time most recently, ms. */
  readonly lastAt: number;
  /** Each rank once. */
  readonly reports: readonly CollectedReport[];
  /** The first pod of the set that was seen. */
  readonly pod: TestingPod;
  /** Ranks that had reported at the last partial verdict: without another report, the next would be the same. */
  readonly looked: readonly number[];
  /** Nodes that were notified already, or given up. */
  readonly notified: readonly string[];
  /** Nodes that were given up, each with the reason. */
  readonly unnotified: readonly { readonly node: string; readonly because: string }[];
  /** Why it is over before it is complete, and the set of pods for which it is; what comes next waits until it was judged. */
  readonly superseded: { readonly because: string; readonly by?: TestingPod } | undefined;
  readonly deadlines: Deadlines | undefined;
}

/** When a run must be over: two timers, of which the first is restarted while reports come. */
export interface Deadlines {
  readonly inactivityMs: number;
  readonly inactivity: DueTimer;
  /** Ranks that had reported when it was set. */
  readonly reportsSeen: number;
  readonly deadline: DueTimer;
  readonly endsAt: number;
}

/** A timer that runs, or has fired. Its id is no time: the workflow's clock may differ in replay after a local activity. */
export interface DueTimer {
  readonly id: number;
  /** ms */
  readonly at: number;
  readonly fired: boolean;
}

export type TimerName = 'idle' | 'inactivity' | 'deadline';

/** What waits to be sorted: reports, and notices that a set of pods is testing. */
export type Arrived = { readonly at: number } & (
  | { readonly report: CollectedReport }
  | { readonly testing: TestingPod }
);

export interface CountedReport extends Pick<TestingPod, 'uid' | 'createdAt'>, Pick<CollectedReport, 'writtenAt'> {
  readonly rank: number;
}

export type WorkloadOver = Exclude<ObservedWorkload, { kind: 'there' }>;

interface Judging {
  readonly open: OpenRun;
  /** `part`: some of the reports, because one of them is urgent. */
  readonly evidence: 'complete' | 'part' | 'expired' | 'superseded';
  /** The first decision on this evidence: the verdict. Later ones only list further nodes. */
  readonly first?: PreflightDecision | undefined;
}

export interface Judged extends Judging {
  readonly first: PreflightDecision;
}

interface Notifying {
  /** Faults that were not accepted yet. */
  readonly pending: readonly Fault[];
  readonly because: string;
  /** More faults that a further decision lists. */
  readonly left: number;
  /** Number of this try. */
  readonly tries: number;
  /** Why the last try failed. */
  readonly refusal: string;
}

/** What the job and people are notified of. */
export interface Report {
  readonly pod: TestingPod;
  readonly received: number;
  readonly expected: number;
  /** Its key follows the workflow's id. Absent when a part of the reports showed nothing. */
  readonly announcement?: Omit<Announcement, 'about'>;
  /** For the job; only of a run that is over. */
  readonly note?: PreflightNote;
}

/** What is there between two effects. */
export type Collection = PreflightData & { readonly open?: OpenRun | undefined };

export const firstState = (now: number): PreflightState => ({
  phase: 'waiting',
  run: 0,
  last: undefined,
  counted: [],
  testing: undefined,
  inbox: [],
  refused: [],
  dropped: 0,
  podsGone: false,
  over: undefined,
  found: undefined,
  idle: undefined,
  since: now,
  effect: 0,
});

/** Without what belongs to a phase. */
export const dataOf = (state: PreflightData): PreflightData => {
  const { run, last, counted, testing, inbox, refused, dropped, podsGone, over, found, idle, since, effect } = state;
  return { run, last, counted, testing, inbox, refused, dropped, podsGone, over, found, idle, since, effect };
};

export const openOf = (state: PreflightState): OpenRun | undefined => ('open' in state ? state.open : undefined);

/** The phase that people are shown. */
export function shownPhase(state: PreflightState): PreflightStatus['phase'] {
  switch (state.phase) {
    case 'waiting':
    case 'ended':
      return state.phase;
    case 'observing':
      return state.open ? 'collecting' : 'waiting';
    case 'opening':
    case 'collecting':
      return 'collecting';
    default:
      return 'judging';
  }
}

export const newRun = (run: number, size: number, pod: TestingPod, at: number): OpenRun => ({
  run,
  size,
  pod,
  startedAt: at,
  lastAt: at,
  reports: [],
  looked: [],
  notified: [],
  unnotified: [],
  superseded: undefined,
  deadlines: undefined,
});

export const isComplete = ({ size, reports }: OpenRun): boolean => size > 0 && reports.length >= size;

/** Whether a report says that its own node is broken, that node was not notified yet, and has reported since the last partial verdict. */
export function isUrgent({ reports, notified, looked }: OpenRun): boolean {
  const failing = reports.filter(({ report: { failed = [] } }) => failed.length > 0);
  if (failing.length === 0) return false;
  const broken = new Set(failing.map(({ report }) => report.node)).difference(new Set(notified));
  const seen = new Set(looked);
  return reports.some(({ report: { rank, node } }) => broken.has(node) && !seen.has(rank));
}

/** Created in an earlier second: timestamps have a resolution of 1 s, so ties are undecidable. */
export const isOlder = (one: Pick<TestingPod, 'createdAt'>, other: Pick<TestingPod, 'createdAt'>): boolean =>
  Date.parse(one.createdAt) < Date.parse(other.createdAt);

/** The newest refusals, for people to see. */
export const withRefused = (
  known: readonly RefusedReport[],
  refused: readonly RefusedReport[],
): readonly RefusedReport[] => [...known, ...refused].slice(-20);

/** Something has happened that the next look at the inbox and the timers answers. */
export const isDue = (state: PreflightState): boolean => {
  const { deadlines } = openOf(state) ?? {};
  return (
    state.inbox.length > 0 ||
    state.podsGone ||
    [state.idle, deadlines?.inactivity, deadlines?.deadline].some((timer) => timer?.fired)
  );
};

/** A run's reports would not fit into one payload, so continue-as-new happens only between two runs. */
export const canContinueAsNew = (state: PreflightState): boolean => state.phase === 'waiting' && !isDue(state);

/** The timers that run in a state. */
export function timersOf(
  state: PreflightState,
): readonly { readonly name: TimerName; readonly timer: DueTimer; readonly summary: string }[] {
  const { run, deadlines } = openOf(state) ?? {};
  const all = [
    { name: 'idle', timer: state.idle, summary: 'check whether the workload still exists' },
    { name: 'inactivity', timer: deadlines?.inactivity, summary: `run ${run}: no report in time` },
    { name: 'deadline', timer: deadlines?.deadline, summary: `run ${run}: not complete in time` },
  ] as const;
  return all.flatMap(({ timer, ...one }) => (timer && !timer.fired ? [{ ...one, timer }] : []));
}
