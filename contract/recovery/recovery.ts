/** One recovery of one job: its input, facts, decisions and result. */

import type { Evidence } from './evidence.ts';
import type { Blame, Fault } from '../faults/faults.ts';
import type { RestartLevel } from '../job/job-overrides.ts';
import type { AttemptPod, JobRef, JobView, StopMethod } from '../job/jobs.ts';
import type { NodeView } from '../node/nodes.ts';
import type { Outcome } from './outcomes.ts';
import type { OperatorRequest } from '../wire/messages.ts';
import type { JobProgress } from '../progress/progress.ts';
import type { OperatorAnswer, CapacityDecision, CheckpointResult, Question, RecoveryPlan } from './plan.ts';

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
  /** What happens to pods that outlive a stop. */
  readonly overdue?: 'force' | 'person';
  readonly evidenceMs?: number;
  readonly verify?: { readonly firstMs: number; readonly stallMs: number; readonly mostMs: number };
}

/** What `decideRecovery` looks at: the job, its present pods, and the nodes under them. */
export interface AttemptFacts {
  /** Absent when the job object is gone. */
  readonly job?: JobView;
  /** Name of the pod whose success completes the job, once it has succeeded: the job's controller may report it later. */
  readonly succeeded?: string;
  /** Pods controlled by the job and not being deleted. */
  readonly pods: readonly AttemptPod[];
  /** RFC 3339, the API server's clock: when the oldest of these pods was created. Absent where there are none. */
  readonly oldestPodAt?: string;
  /** Pods of the job that are already being deleted. */
  readonly terminating?: readonly AttemptPod[];
  /** For a large attempt, `pods` and `terminating` hold only the pods that matter for the decision. This counts the others, with a digest of the UIDs of all present pods. */
  readonly more?: { readonly pods: number; readonly terminating: number; readonly digest: string };
  /** Nodes that the faults blame; a node that is gone is missing. */
  readonly nodes: readonly NodeView[];
  /** Blamed nodes whose workflow has not reported a quarantine yet, or has been refused one. */
  readonly undecided: readonly { readonly node: string; readonly because: string }[];
  /** Present when a person has paused kcover. */
  readonly paused?: OperatorRequest;
  /** Why the cluster could not be observed. All other facts are missing then. */
  readonly unobservable?: string;
  /** When it was observed, ms, the worker's clock. */
  readonly at?: number;
}

/** How many pods the attempt has, including those left out of the observation. */
export const podCount = ({ pods, more }: Pick<AttemptFacts, 'pods' | 'more'>): number =>
  pods.length + (more?.pods ?? 0);

/** Everything `decideRecovery` decides from. */
export interface RecoveryFacts {
  readonly attempt: AttemptFacts;
  /** Faults that arrived after the last stop. */
  readonly fresh: readonly Fault[];
  /** Faults that an earlier stop of this incident dealt with. */
  readonly handled: readonly Fault[];
  readonly stops: number;
  /** How the last stop was done. */
  readonly stoppedBy?: StopMethod | 'pods';
  readonly attempts: number;
  /** A person asked for this recovery. */
  readonly asked: boolean;
  /** How long the incident has been held without interruption, ms. */
  readonly heldMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: number;
  /** Levels that were tried in this incident and did not bring training back, each with the reason. `noCapacity`: skipped, because only a smaller job fits. */
  readonly tried?: readonly {
    readonly level: Exclude<RestartLevel, 'job'>;
    readonly because: string;
    readonly noCapacity?: true;
  }[];
}

/** The next step, with the reason that reaches the UI, the Event and the record. */
export type RecoveryDecision = Decided & {
  /** What all faults of the incident known so far blame. */
  readonly blame?: Blame;
} & (
    | { readonly kind: 'stop'; readonly by: StopMethod; readonly plan?: RecoveryPlan }
    /** Nothing is deleted; the decision is made again when something changes. */
    | {
        readonly kind: 'hold';
        readonly remedy: string;
        /** Observe again after this time, where no signal announces the change. */
        readonly lookAgainMs?: number;
        /** The cluster cannot be observed: another deadline applies. */
        readonly unobservable?: true;
        /** The processes are asked to restart training in place, within this time. */
        readonly inProcess?: { readonly beyond: number; readonly withinMs: number };
      }
    /** Nothing since the last stop needs another one: keep waiting for the new attempt. */
    | { readonly kind: 'go-on' }
    /** `plan`: what would have been done before the stop in mode `act`. */
    | { readonly kind: 'end'; readonly outcome: Outcome; readonly remedy?: string; readonly plan?: RecoveryPlan }
  );

/** Whether a job can be recovered, judged when it opts in. */
export type OptInDecision = Decided & ({ readonly kind: 'watch' } | { readonly kind: 'warn'; readonly remedy: string });

/** What every decision carries. */
export interface Decided {
  readonly because: string;
  /** Digest of the settings used. */
  readonly settings: string;
  /** When it was decided, ms. Workflows take the time from here: their own clock may differ in replay after a local activity. */
  readonly at: number;
}

/** Request to stop one attempt; `pods` were recorded in history before it is sent. */
export interface StopRequest {
  readonly incident: string;
  readonly attempt: number;
  readonly job: JobRef;
  /** `pods`: only these pods are deleted, each by UID; the rest of the attempt keeps running. */
  readonly by: StopMethod | 'pods';
  readonly resourceVersion: string;
  readonly pods: readonly AttemptPod[];
  /** Pods that are already being deleted; their names are free only when they are gone too. */
  readonly terminating?: readonly AttemptPod[];
  /** The stop was already sent; these pods are to be deleted by force, each UID once. */
  readonly force?: readonly AttemptPod[];
  /** Everything is deleted by force, even where a kubelet could still end it: `force` above holds all that is left. */
  readonly immediate?: true;
  /** A person asked for this stop: it is sent in mode observe too. */
  readonly asked?: true;
  /** Forced because the deadline passed, not on request: pods on dead nodes keep the grace that `deadNode` of the settings grants. */
  readonly overdue?: true;
  readonly because: string;
  readonly deadlineMs: number;
}

/** Result of a stop. `interfered`: the job changed between observation and stop; nothing was done, observe again. */
export type StopResult =
  | (Forced & {
      readonly kind: 'stopped';
      readonly at: string;
      readonly requests: number;
      /** Pods that the job's controller created between the look and the stop: they were stopped too. */
      readonly late?: readonly AttemptPod[];
    })
  | { readonly kind: 'interfered'; readonly because: string }
  /** It could not, or may no longer, be sent; nothing was done, observe again. */
  | { readonly kind: 'unsent'; readonly because: string }
  /** No kubelet ends these pods any more; they may be deleted by force, once that is recorded. */
  | (Forced & { readonly kind: 'lost'; readonly because: string; readonly pods: readonly AttemptPod[] })
  | (Forced & { readonly kind: 'timed-out'; readonly because: string; readonly left: readonly string[] });

interface Forced {
  /** Pods of the request that were deleted by force: their processes were not observed to end. */
  readonly forced?: readonly AttemptPod[];
}

/** Request to wait until a complete new attempt is ready. */
export interface AwaitRequest {
  readonly incident: string;
  readonly job: JobRef;
  /** The stopped attempt: none of these may be counted. */
  readonly old: readonly string[];
  /** How it was stopped. */
  readonly stoppedBy?: StopMethod | 'pods';
  /** UIDs of pods that the stop left running. One on a node that was quarantined since is waited for like any other; only another stop moves it. */
  readonly remaining?: readonly string[];
  readonly deadlineMs: number;
}

/** What was observed. `overdue` quotes the scheduler. */
export type AwaitResult =
  /** `startedAt`: creation of its oldest pod; older pods belong to an earlier attempt. `wholeSince`: creation of its newest pod; earlier steps were made without it. Both RFC 3339, the API server's clock. */
  | {
      readonly kind: 'running';
      readonly at: string;
      /** Truncated where there are many. */
      readonly pods: readonly AttemptPod[];
      /** How many there are, where `pods` is truncated. */
      readonly of?: number;
      readonly startedAt: string;
      readonly wholeSince?: string;
      readonly misplaced: number;
    }
  | { readonly kind: 'overdue'; readonly because: string }
  | { readonly kind: 'ended'; readonly outcome: Outcome; readonly because: string };

/**
 * How an incident ends whose job succeeded before a complete new attempt was observed. A pod that is deleted under a running controller may
 * exit with 0 on SIGTERM, and if its success completes the job, the job counts as succeeded. While a job is suspended, no exit counts.
 */
export const successAfterStop = (
  because: string,
  stoppedBy: StopMethod | 'pods' | undefined,
): { readonly outcome: 'restarted' | 'escalated'; readonly because: string } =>
  stoppedBy === undefined || stoppedBy === 'suspend'
    ? { outcome: 'restarted', because: `the job succeeded: ${because}` }
    : {
        outcome: 'escalated',
        because: `the job counts as succeeded since the stop of its pods was sent, and it was not observed to run again: ${because}`,
      };

/** Result of `recovery`, shown in the Temporal UI and sent to the parent. */
export interface RecoveryOutcome {
  readonly incident: string;
  readonly outcome: Outcome;
  readonly because: string;
  readonly stops: number;
  /** Stops that were begun, whatever their result: the budget counts these. Missing when unknown. */
  readonly stopsStarted?: number;
  /** What its faults blame, now that all of them are known: replaces the budget category assumed at its start. */
  readonly blame?: Blame;
  /** How far training was before the first stop, where the job reported it. */
  readonly before?: JobProgress;
  /** Fault ids that were taken into account; the parent keeps all others. */
  readonly faults: readonly string[];
  /** RFC 3339, the API server's clock: pods created before it belong to an earlier attempt. */
  readonly attemptStartedAt?: string;
}

/** One line of an incident's timeline. */
export interface TimelineEntry {
  readonly at: string;
  readonly what: string;
  readonly because?: string;
}

/** When a recovery entered a phase; the one before it ended then. */
export interface PhaseEntry {
  readonly phase: RecoveryPhase;
  readonly at: string;
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
  /** Accelerators of the job before the recovery; missing where its pods ask for none. */
  readonly gpus?: number;
  /** RFC 3339: when the job opted in; missing where it was not observed. */
  readonly optedInAt?: string;
  /** In order; the first hundred. */
  readonly phases: readonly PhaseEntry[];
  readonly faults: readonly Fault[];
  readonly decisions: readonly RecoveryDecision[];
  readonly stops: readonly {
    readonly attempt: number;
    readonly by: StopMethod | 'pods';
    readonly at: string;
    /** Truncated where there are many; the index of the evidence names every one. */
    readonly pods: readonly AttemptPod[];
    /** How many there were, where `pods` is truncated. */
    readonly of?: number;
    /** For a large attempt: SHA-256 over the UIDs of all its pods, sorted, one on a line. */
    readonly digest?: string;
    /** Pods that were deleted by force; some may have been terminating before. Truncated where there are many. */
    readonly forced?: readonly AttemptPod[];
  }[];
  /** Pods that were deleted by force, including those of a stop that did not complete: their processes were not observed to end. Truncated where there are many. */
  readonly forced?: readonly AttemptPod[];
  /** How many there were, where `forced` is truncated. */
  readonly forcedOf?: number;
  /** What was captured of each attempt before its stop. */
  readonly evidence?: readonly Evidence[];
  /** The last step before the first stop, and the progress after the last stop. */
  readonly progress?: { readonly before?: JobProgress; readonly after?: JobProgress };
  /** Approvals that were asked for, with the answer or the default that applied. */
  readonly approvals?: readonly OperatorAnswer[];
  /** Checkpoints that were awaited. */
  readonly checkpoints?: readonly (CheckpointResult & { readonly attempt: number })[];
  /** What was decided about capacity for the next attempt. */
  readonly capacity?: readonly CapacityDecision[];
  /** Pods of the whole job, where it was shrunk. */
  readonly pods?: { readonly before: number; readonly after: number };
  /** Truncated where there are many. */
  readonly runningPods: readonly AttemptPod[];
  /** How many there were, where `runningPods` is truncated. */
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
  /** May be open in any phase, also while the recovery is held for another reason. */
  readonly question?: Question;
  readonly faults: readonly Pick<Fault, 'id' | 'code' | 'message' | 'node' | 'quarantine'>[];
  readonly timeline: readonly TimelineEntry[];
}
