import type { Fault } from '../../contract/faults/faults.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { RecoveryLimits } from '../../contract/recovery/recovery.ts';
import {
  type BudgetAttribution,
  type BudgetEntry,
  historyMs,
  type IncidentFacts,
  type JobOutcome,
  type JobStatus,
  type OpenIncident,
  type RecoveryRequest,
} from '../../contract/job/training-job.ts';
import { iso } from '../../contract/settings/duration.ts';

/** All that the workflow of a job knows: continue-as-new passes it on, and people are shown it. */
export type JobState = JobData &
  /** The job is being read, as in every run. Before the first run has done so, no request of a person is taken. */
  (
    | { readonly phase: 'starting'; readonly isFirstRun: boolean }
    /** Nothing waits. */
    | { readonly phase: 'watching' }
    /** A person has paused the job; what waits was judged, and stays. */
    | { readonly phase: 'paused' }
    /** Faults or a request wait for a decision. */
    | { readonly phase: 'deciding' }
    /** The faults are judged again at a time. `isOutdated`: something arrived while it was decided. */
    | { readonly phase: 'waiting'; readonly because: string; readonly until: number; readonly isOutdated: boolean }
    /** No recovery for these faults before a time, unless a person asks. */
    | { readonly phase: 'refused'; readonly because: string; readonly until: number; readonly isOutdated: boolean }
    /** A recovery was decided, and is being started. */
    | {
        readonly phase: 'opening';
        readonly open: OpenIncident;
        readonly limits: RecoveryLimits;
        readonly attribution?: BudgetAttribution | undefined;
      }
    | { readonly phase: 'recovering'; readonly open: OpenIncident }
    /** The recovery runs, but makes no progress. */
    | { readonly phase: 'stuck'; readonly open: OpenIncident; readonly because: string }
    | { readonly phase: 'ended'; readonly outcome: JobOutcome }
  );

/** Phase, reason and what is waited for, as people are shown them. While something is decided or started, the last ones stay. */
export type ShownStatus = Pick<JobStatus, 'phase' | 'because' | 'waitingFor' | 'since' | 'until'>;

/** Bounded by `most`, so that it fits into one payload whatever arrives. Times are ms unless they are texts. */
export interface JobData {
  readonly status: ShownStatus;
  readonly optedInAt: string;
  /** RFC 3339: failures before it are history; they predate the workflow's first run. */
  readonly historyUntil: string;
  /** Faults that no recovery has taken into account, in the order of arrival. */
  readonly inbox: readonly Fault[];
  /** Ids of faults that were dismissed, or taken into account by a recovery; the oldest first. */
  readonly seen: readonly string[];
  /** Ids of faults of the inbox that the open recovery has. */
  readonly sent: readonly string[];
  /** When the oldest fault of the inbox arrived. */
  readonly waitingSince?: number | undefined;
  readonly requests: readonly RecoveryRequest[];
  /** The label of a request that came to nothing still stands on the job: a later run would take it for a new request. */
  readonly labelLeft: boolean;
  /** Removals of the label under way. */
  readonly labelRemovals: number;
  /** The incident that is open, from a person's request or a decision until its recovery has reported. */
  readonly open?: OpenIncident | undefined;
  readonly usage: readonly BudgetEntry[];
  readonly last?: JobStatus['last'] | undefined;
  readonly attemptStartedAt?: string | undefined;
  /** The job's overrides when it was last read. */
  readonly overrides?: IncidentFacts['overrides'] | undefined;
  /** A person has paused this job. */
  readonly paused?: OperatorRequest | undefined;
  /** Pauses and resumes that people and the open recovery are not yet notified of. */
  readonly pauseChanges: readonly PauseChange[];
  /** The faults were judged during the pause: they stay until it is over or something new comes. */
  readonly waitsForPause: boolean;
  /** Until when the last refusal holds, which people were notified of. */
  readonly refusedUntil: number;
  /** When faults were last judged, as recorded: the clock of the workflow itself may differ in replay, and commands follow from this. */
  readonly judgedAt: number;
  /** How the job ended for kcover when it was last read; a later read may find it opted in again. */
  readonly over?: JobOutcome | undefined;
  /** Something about the job changed: it is to be read. */
  readonly mustRead: boolean;
  /** Grows with everything that comes from outside: an equal revision means no change. */
  readonly revision: number;
  /** Revision at which the job was last read: what came since may be about a later opt-in by its owner. */
  readonly readRevision: number;
  /** Faults and reports that could not be used or kept. */
  readonly dropped: number;
}

export type PauseChange = OperatorRequest & { readonly what: 'paused' | 'resumed' };

export const most = { inbox: 200, seen: 1000, requests: 10, usage: 200, perSignal: 100 } as const;

/** What the first phase of a run shows. */
const reading = (now: number): ShownStatus => ({
  phase: 'starting',
  because: 'reading the job',
  waitingFor: 'the API server',
  since: iso(now),
});

export const firstState = (now: number): JobState => ({
  phase: 'starting',
  isFirstRun: true,
  status: reading(now),
  optedInAt: iso(0),
  historyUntil: iso(now - historyMs),
  inbox: [],
  seen: [],
  sent: [],
  requests: [],
  labelLeft: false,
  labelRemovals: 0,
  usage: [],
  pauseChanges: [],
  waitsForPause: false,
  refusedUntil: 0,
  judgedAt: 0,
  mustRead: false,
  revision: 0,
  readRevision: 0,
  dropped: 0,
});

/** A run that continues another one reads the job first, and asks whether the open recovery still runs. */
export const continuedState = (state: JobState, now: number): JobState => ({
  ...dataOf(state),
  phase: 'starting',
  isFirstRun: state.phase === 'starting' && state.isFirstRun,
  status: reading(now),
});

type KeysOf<Union> = Union extends unknown ? keyof Union : never;

/** Fields of one phase alone. */
const ofPhase: Readonly<Record<Exclude<KeysOf<JobState>, keyof JobData>, true>> = {
  phase: true,
  isFirstRun: true,
  because: true,
  until: true,
  isOutdated: true,
  limits: true,
  attribution: true,
  outcome: true,
};

/** The state without what belongs to its phase alone. */
export const dataOf = (state: JobState): JobData =>
  Object.fromEntries(Object.entries(state).filter(([field]) => !Object.hasOwn(ofPhase, field))) as unknown as JobData;

/** Whether something waits for a decision. */
export const hasWork = ({ requests, inbox, waitsForPause }: JobData): boolean =>
  requests.length > 0 || (inbox.length > 0 && !waitsForPause);

/** Whether nothing is left to do for a job that has ended. */
export const isDone = ({ over, open, mustRead, revision, readRevision, labelLeft, labelRemovals }: JobData): boolean =>
  over !== undefined && !open && !mustRead && revision === readRevision && !labelLeft && labelRemovals === 0;
