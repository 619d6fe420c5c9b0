/**
 * Signals, updates and queries of every workflow: names here, payloads beside what they are about.
 * Signals are facts in the past tense, validated where they are sent and guarded again where they arrive.
 * Updates are an operator's wishes and are answered at once.
 */

import type { Fault } from './faults.ts';

/** Names of signals. */
export const signals = {
  /** To a job, a node or a recovery: `FaultsObserved`. */
  faultsObserved: 'faultsObserved',
  /** To a job: `JobObserved`. */
  jobObserved: 'jobObserved',
  /** To a node: `NodeObserved`. */
  nodeObserved: 'nodeObserved',
  /** To a job: `Recover`. May be sent by hand from the Temporal UI. */
  recover: 'recover',
  /** From a recovery to its job: `RecoveryOutcome`. */
  recoveryEnded: 'recoveryEnded',
  /** From the cluster to whoever waits: no payload; ask again. */
  recheck: 'recheck',
  /** From a job to its recovery: `JobPause`. */
  jobPaused: 'jobPaused',
  /** To a preflight: `ReportsArrived`. */
  reportsArrived: 'reportsArrived',
  /** To a preflight: `PodsTesting`. */
  podsTesting: 'podsTesting',
  /** To a preflight, when no pod is left: no payload; look whether the workload is still there. */
  podsGone: 'podsGone',
  /** To the cluster: `Waiting`. */
  waiting: 'waiting',
  /** To the cluster: `Returned`. */
  returned: 'returned',
  /** To a node: `Quarantine`. An operator's wish that must also start the workflow. */
  quarantine: 'quarantine',
} as const;

/** Names of updates. */
export const updates = {
  recoverNow: 'recoverNow',
  release: 'release',
  reserve: 'reserve',
  pause: 'pause',
  resume: 'resume',
  approve: 'approve',
  deny: 'deny',
} as const;

/** How a job's workflow refuses a wish before it has read its job: worth asking again. */
export const notReady = 'the job is still being read: try again in a moment';

/** How the cluster's workflow refuses before it knows what is out and paused: worth asking again. */
export const notCounted = 'the nodes that are out already are still being counted: try again in a moment';

/** The one query of every workflow. */
export const statusQuery = 'status';

export interface FaultsObserved {
  readonly faults: readonly Fault[];
}

/** Something about the job changed; the workflow reads the object itself before it believes it. */
export interface JobObserved {
  readonly change: 'opted-in' | 'opted-out' | 'finished' | 'gone' | 'not-recoverable';
  readonly because?: string;
}

/** The Node object as the watch saw it. */
export interface NodeObserved {
  /** Absent when the object is gone. */
  readonly uid?: string;
  /** Whether it still carries a taint of ours. */
  readonly quarantinedByUs: boolean;
}

/** Signal `recover`, also for people: `{"reason": "...", "by": "..."}`; both may be missing. */
export interface Recover {
  readonly reason?: string;
  readonly by?: string;
  readonly label?: true;
}

/** Signal `jobPaused`: without `paused` it goes on. */
export interface JobPause {
  readonly paused?: OperatorRequest;
}

/** Update `recoverNow`, `release`, `pause`, `resume`; signal `quarantine`. */
export interface OperatorRequest {
  readonly by: string;
  readonly reason: string;
}

/** Update `approve`, `deny`. */
export interface ApprovalRequest extends OperatorRequest {
  /** Id of the question that is answered; refused where another is asked by then. Without it, whatever is asked is answered. */
  readonly question?: string;
}
