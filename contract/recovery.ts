/** One recovery of one job: what is asked of it, what it decides, how it ends. */

import type { Evidence } from './evidence.ts';
import type { Blame, Fault } from './faults.ts';
import type { RestartLevel } from './job-overrides.ts';
import type { AttemptPod, JobRef, JobView, StopMethod } from './jobs.ts';
import type { NodeView } from './nodes.ts';
import type { Outcome } from './outcomes.ts';
import type { OperatorRequest } from './messages.ts';
import type { JobProgress } from './progress.ts';
import type { OperatorAnswer, CapacityDecision, CheckpointResult, Question, RecoveryPlan } from './recovery-plan.ts';

/** Input of `recovery`. */
export interface RecoveryInput {
  readonly incident: string;
  readonly job: JobRef;
  readonly faults: readonly Fault[];
  /** Set when a person (or their label) asked: acts in `observe` mode and beyond the budget. */
  readonly askedBy?: OperatorRequest;
  readonly limits: RecoveryLimits;
  /** A person has paused this job. */
  readonly paused?: OperatorRequest;
}

/** Deadlines of one recovery in milliseconds, taken from the worker's settings when it starts. */
export interface RecoveryLimits {
  readonly attempts: number;
  readonly holdMs: number;
  readonly stopMs: number;
  readonly restartMs: number;
  readonly placementMs: number;
  /** Pods that outlive a stop are deleted by force. Missing in incidents of versions that left them to a person. */
  readonly overdue?: 'force' | 'person';
  /** Missing in incidents of versions that captured nothing. */
  readonly evidenceMs?: number;
  /** Missing in incidents of versions that verified nothing. */
  readonly verify?: { readonly firstMs: number; readonly stallMs: number; readonly mostMs: number };
}

/** What `decideRecovery` looks at: the job, its present pods, and the nodes under them. */
export interface AttemptFacts {
  /** Absent when the job object is gone. */
  readonly job?: JobView;
  /** Name of the pod whose success is the job's, once it has succeeded: its controller may be slow to say so. */
  readonly succeeded?: string;
  /** Pods controlled by the job and not being deleted. */
  readonly pods: readonly AttemptPod[];
  /** RFC 3339, the API server's clock: when the oldest of these pods was created. Absent where there are none. */
  readonly oldestPodAt?: string;
  /** Pods of the job that somebody has already asked to go. */
  readonly terminating?: readonly AttemptPod[];
  /** Of a large attempt, `pods` and `leaving` hold only the pods that a decision is about; so many more there are, and this is the digest of the UIDs of all present. */
  readonly more?: { readonly pods: number; readonly terminating: number; readonly digest: string };
  /** Nodes that the faults blame; a node that is gone is missing. */
  readonly nodes: readonly NodeView[];
  /** Blamed nodes whose own workflow has not yet said, or may not yet say, that they are quarantined. */
  readonly undecided: readonly { readonly node: string; readonly because: string }[];
  /** Present when a person has paused kcover. */
  readonly paused?: OperatorRequest;
  /** Set when the cluster could not be seen, and why: all other facts are missing then, and say nothing. */
  readonly unobservable?: string;
  /** When it was looked at, ms by the clock of the worker. */
  readonly at?: number;
}

/** How many pods the attempt has, those included that a look at it left out. */
export const podCount = ({ pods, more }: Pick<AttemptFacts, 'pods' | 'more'>): number => pods.length + (more?.pods ?? 0);

/** Everything `decideRecovery` decides from. */
export interface RecoveryFacts {
  readonly attempt: AttemptFacts;
  /** Faults that no stop has answered yet. */
  readonly fresh: readonly Fault[];
  /** Faults that an earlier stop of this incident answered. */
  readonly handled: readonly Fault[];
  readonly stops: number;
  /** How the last of them was done. */
  readonly stoppedBy?: StopMethod | 'pods';
  readonly attempts: number;
  /** A person asked for this recovery. */
  readonly asked: boolean;
  /** How long the incident has held without a break, ms. */
  readonly heldMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: number;
  /** Levels that were tried in this incident and did not bring training back, each with the reason. `noRoom`: it was passed over, because only a smaller job finds room. */
  readonly tried?: readonly { readonly level: Exclude<RestartLevel, 'job'>; readonly because: string; readonly noCapacity?: true }[];
}

/** The next step, with the reason that reaches the UI, the Event and the record. */
export type RecoveryDecision = Decided & {
  /** Whom all faults of the incident blame, as far as they are known now. Missing in decisions of versions that blamed nobody. */
  readonly blame?: Blame;
} & (
    | { readonly kind: 'stop'; readonly by: StopMethod; readonly plan?: RecoveryPlan }
    /** Nothing is deleted; the facts are judged anew when something changes. */
    | {
        readonly kind: 'hold';
        readonly remedy: string;
        /** Set where nobody may tell of the change: look again by itself. */
        readonly lookAgainMs?: number;
        /** Nothing can be seen: another deadline counts, and nothing was learned. */
        readonly unobservable?: true;
        /** Its processes are asked to start training anew by themselves, and have so long for it. */
        readonly inProcess?: { readonly beyond: number; readonly withinMs: number };
      }
    /** What arrived since the last stop changes nothing: go on waiting for the new attempt. */
    | { readonly kind: 'go-on' }
    /** `plan`: what would have come before the stop, if the mode were `act`. */
    | { readonly kind: 'end'; readonly outcome: Outcome; readonly remedy?: string; readonly plan?: RecoveryPlan }
  );

/** Whether a job can be recovered, judged when it opts in. */
export type OptInDecision = Decided & ({ readonly kind: 'watch' } | { readonly kind: 'warn'; readonly remedy: string });

/** What every decision carries. */
export interface Decided {
  readonly because: string;
  /** Digest of the settings that decided. */
  readonly settings: string;
  /** When it was decided, ms. Workflows take the time from here: their own clock may differ in replay after a local activity. */
  readonly at: number;
}

/** Request to stop one attempt; `pods` were recorded in history before it is sent. */
export interface StopRequest {
  readonly incident: string;
  readonly attempt: number;
  readonly job: JobRef;
  /** `pods`: only these, singly by UID; the others of the attempt go on. */
  readonly by: StopMethod | 'pods';
  readonly resourceVersion: string;
  readonly pods: readonly AttemptPod[];
  /** Pods that were asked to go before; their names are free only when they are gone too. */
  readonly terminating?: readonly AttemptPod[];
  /** The stop was sent before; these pods are to be deleted by force, each UID once. */
  readonly force?: readonly AttemptPod[];
  /** Everything is deleted by force, whether or not somebody would end it: `force` above holds all that is left. */
  readonly immediate?: true;
  /** A person asked for this stop: it is sent in mode observe too. */
  readonly asked?: true;
  /** Without grace because its time is over, which nobody asked for: pods of dead nodes keep what `deadNode` of the settings grants them. */
  readonly overdue?: true;
  readonly because: string;
  readonly deadlineMs: number;
}

/** What became of it. `interfered`: the job changed between the look and the stop; nothing was done, look again. */
export type StopResult =
  | (Forced & { readonly kind: 'stopped'; readonly at: string; readonly requests: number })
  | { readonly kind: 'interfered'; readonly because: string }
  /** It could not, or may no longer, be sent; nothing was done, look again. */
  | { readonly kind: 'unsent'; readonly because: string }
  /** Nobody ends these pods any more; they may be deleted by force, once that is recorded. */
  | (Forced & { readonly kind: 'lost'; readonly because: string; readonly pods: readonly AttemptPod[] })
  | (Forced & { readonly kind: 'timed-out'; readonly because: string; readonly left: readonly string[] });

interface Forced {
  /** Pods of the request that were deleted by force: nobody saw their processes end. */
  readonly forced?: readonly AttemptPod[];
}

/** Request to wait until a whole new attempt is ready. */
export interface AwaitRequest {
  readonly incident: string;
  readonly job: JobRef;
  /** The stopped attempt: none of these may be counted. */
  readonly old: readonly string[];
  /** How it was stopped. */
  readonly stoppedBy?: StopMethod | 'pods';
  /** UIDs of pods that the stop left alone. One on a node that is quarantined since is waited for like any other, but only a stop moves it. */
  readonly remaining?: readonly string[];
  readonly deadlineMs: number;
}

/** What was seen. `overdue` carries the scheduler's own words. */
export type AwaitResult =
  /** `startedAt`: of its oldest pod; what is older belongs to an earlier attempt. `wholeSince`: of its newest; steps before it were not made by all of them. Both RFC 3339, the API server's clock. */
  | {
      readonly kind: 'running';
      readonly at: string;
      /** The first of them, where there are many. */
      readonly pods: readonly AttemptPod[];
      /** How many there are, where that is more. */
      readonly of?: number;
      readonly startedAt: string;
      readonly wholeSince?: string;
      readonly misplaced: number;
    }
  | { readonly kind: 'overdue'; readonly because: string }
  | { readonly kind: 'ended'; readonly outcome: Outcome; readonly because: string };

/**
 * How an incident ends whose job succeeded before a whole new attempt was seen. Pods that are deleted under a running controller may end with 0
 * when they are told to stop, and where such a one decides, the job counts as done. While a job is suspended no end counts.
 */
export const successAfterStop = (
  because: string,
  stoppedBy: StopMethod | 'pods' | undefined,
): { readonly outcome: 'restarted' | 'escalated'; readonly because: string } =>
  stoppedBy === undefined || stoppedBy === 'suspend'
    ? { outcome: 'restarted', because: `the job succeeded: ${because}` }
    : { outcome: 'escalated', because: `the job counts as succeeded since its pods were told to stop, and nobody saw it run again: ${because}` };

/** Result of `recovery`, shown in the Temporal UI and sent to the parent. */
export interface RecoveryOutcome {
  readonly incident: string;
  readonly outcome: Outcome;
  readonly because: string;
  readonly stops: number;
  /** Stops that were begun, whatever became of them: what the budget counts. Missing when nobody knows. */
  readonly stopsStarted?: number;
  /** Whom its faults blame, when all of them are known: the last word over what it was charged to at its start. */
  readonly blame?: Blame;
  /** How far training was before the first stop, where the job told. */
  readonly before?: JobProgress;
  /** Fault ids taken into account; the parent keeps every other. */
  readonly faults: readonly string[];
  /** RFC 3339, the API server's clock: pods created before it belong to an earlier attempt. */
  readonly attemptStartedAt?: string;
}

/** One line of an incident's story. */
export interface TimelineEntry {
  readonly at: string;
  readonly what: string;
  readonly because?: string;
}

/** The document that outlives Temporal's retention: one per incident. */
export interface IncidentRecord {
  readonly schema: 1;
  readonly incident: string;
  readonly job: JobRef;
  readonly outcome: Outcome;
  readonly because: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly faults: readonly Fault[];
  readonly decisions: readonly RecoveryDecision[];
  readonly stops: readonly {
    readonly attempt: number;
    readonly by: StopMethod | 'pods';
    readonly at: string;
    /** All of them, or of many the first; the index of the evidence names every one. */
    readonly pods: readonly AttemptPod[];
    /** How many there were, where that is more. */
    readonly of?: number;
    /** Of a large attempt: SHA-256 over the UIDs of all its pods, sorted, one on a line. */
    readonly digest?: string;
    /** Pods that were deleted by force, some of which may have been going before; of many the first. */
    readonly forced?: readonly AttemptPod[];
  }[];
  /** Pods that were deleted by force, those of a stop that never came to its end included: nobody saw their processes end. Of many the first. */
  readonly forced?: readonly AttemptPod[];
  /** How many there were, where that is more. */
  readonly forcedOf?: number;
  /** What was kept of each attempt before its stop. */
  readonly evidence?: readonly Evidence[];
  /** The last step before the first stop, and what was seen after the last. */
  readonly progress?: { readonly before?: JobProgress; readonly after?: JobProgress };
  /** Whoever was asked, and what they or their silence said. */
  readonly approvals?: readonly OperatorAnswer[];
  /** Checkpoints that were awaited. */
  readonly checkpoints?: readonly (CheckpointResult & { readonly attempt: number })[];
  /** What was decided about room for the next attempt. */
  readonly capacity?: readonly CapacityDecision[];
  /** Pods of the whole job, where it was made smaller. */
  readonly pods?: { readonly before: number; readonly after: number };
  /** Of many the first. */
  readonly runningPods: readonly AttemptPod[];
  /** How many there were, where that is more. */
  readonly runningOf?: number;
  readonly timeline: readonly TimelineEntry[];
}

/** Phases of a recovery, as the UI and the `status` query name them. */
export type RecoveryPhase =
  | 'deciding'
  | 'held'
  | 'stopping'
  | 'waiting for approval'
  | 'capturing evidence'
  | 'waiting for a checkpoint'
  | 'checking capacity'
  | 'restarting'
  | 'waiting for placement'
  | 'verifying'
  | 'recording'
  | 'ended';

/** Answer of the `status` query of a recovery. */
export interface RecoveryStatus {
  readonly incident: string;
  readonly phase: RecoveryPhase;
  readonly attempt: number;
  readonly because: string;
  readonly waitingFor: string;
  readonly since: string;
  readonly until?: string;
  /** May be open in any phase: the recovery may be held for something else meanwhile. */
  readonly question?: Question;
  readonly faults: readonly Pick<Fault, 'id' | 'code' | 'message' | 'node' | 'quarantine'>[];
  readonly timeline: readonly TimelineEntry[];
}
