/**
 * Signals, updates and queries of every workflow: names here, payloads in the module of their subject.
 * Signals are facts in the past tense, validated by the sender and checked again by the receiver.
 * Updates are an operator's requests and are answered at once.
 */

import type { Fault } from '../faults/faults.ts';

/** Names of signals. */
export const signals = {
  /** To a job, a node, a recovery or a remedy: `FaultsObserved`. */
  faultsObserved: 'faultsObserved',
  /** To a job: `JobObserved`. */
  jobObserved: 'jobObserved',
  /** To a node: `NodeObserved`. */
  nodeObserved: 'nodeObserved',
  /** To a job: `Recover`. May be sent by hand from the Temporal UI. */
  recover: 'recover',
  /** From a recovery to its job: `RecoveryOutcome`. */
  recoveryEnded: 'recoveryEnded',
  /** From the cluster to a waiting workflow: no payload; ask again. */
  recheck: 'recheck',
  /** From a job to its recovery: `JobPause`. */
  jobPaused: 'jobPaused',
  /** To a preflight: `ReportsArrived`. */
  reportsArrived: 'reportsArrived',
  /** To a preflight: `PodsTesting`. */
  podsTesting: 'podsTesting',
  /** To a preflight, when no pod is left: no payload; check whether the workload still exists. */
  podsGone: 'podsGone',
  /** To the cluster: `WaitingWorkflow`. */
  waiting: 'waiting',
  /** To the cluster: `Returned`. */
  returned: 'returned',
  /** From a remedy to the cluster: `RepairEnded`. */
  repairEnded: 'repairEnded',
  /** From a remedy to its node: `RemedyProgress`. */
  remedyProgressed: 'remedyProgressed',
  /** From a node to its remedy: `RemedyCancelled`. */
  remedyCancelled: 'remedyCancelled',
  /** To a node: `OperatorRequest`. A signal, not an update, because it must also start the workflow. */
  quarantine: 'quarantine',
  /** To the workflow of a route: `NotifyPayload`. */
  notify: 'notify',
} as const;

/** Names of updates. */
export const updates = {
  recoverNow: 'recoverNow',
  release: 'release',
  reserve: 'reserve',
  permitRepair: 'permitRepair',
  joinWave: 'joinWave',
  pause: 'pause',
  resume: 'resume',
  approve: 'approve',
  deny: 'deny',
  /** To a maintenance: `OperatorRequest`. */
  cancel: 'cancel',
  /** To a maintenance: `MaintenancePlan`. */
  replan: 'replan',
} as const;

/** How a job's workflow refuses an update before it has read its job; the caller may retry. */
export const notReady = 'kcover is still reading the job: try again in a moment';

/** How the cluster's workflow refuses before it knows which nodes are out and whether it is paused; the caller may retry. */
export const notCounted = 'kcover is still counting the quarantined nodes: try again in a moment';

/** The one query of every workflow. */
export const statusQuery = 'status';

/** Query of a node's workflow: its faults. */
export const faultsQuery = 'faults';

export interface FaultsObserved {
  readonly faults: readonly Fault[];
}

/** Something about the job changed; the workflow reads the object before it relies on it. */
export interface JobObserved {
  readonly change: 'opted-in' | 'opted-out' | 'finished' | 'gone' | 'not-recoverable';
  readonly because?: string;
}

/** The Node object as the watch saw it. */
export interface NodeObserved {
  /** Absent when the object is gone. */
  readonly uid?: string;
  /** Whether it still has our taint. */
  readonly quarantinedByUs: boolean;
}

/** Signal `recover`, also for people: `{"reason": "...", "by": "..."}`; both may be missing. */
export interface Recover {
  readonly reason?: string;
  readonly by?: string;
  readonly label?: true;
}

/** Signal `jobPaused`: without `paused` the job is resumed. */
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
  /** Id of the question to answer; refused when another one is open. Without it, the open question is answered. */
  readonly question?: string;
}
