/**
 * All activities that workflows call, one interface for both sides.
 * `decide*` are pure policy, run as local activities so that the history shows the decision; all others read or change the cluster.
 * Every effect is idempotent. Errors follow `errors.ts`.
 */

import type {
  ClusterSeen,
  StoredPause,
  PreflightScope,
  ReserveAnswer,
  Reservation,
  WaveAnswer,
  WaveRule,
} from '../cluster.ts';
import type { Evidence, EvidenceRequest } from '../recovery/evidence.ts';
import type { Fault } from '../faults/faults.ts';
import type { EventReason } from '../ids.ts';
import type { AttemptPod, JobRef, JobView, StopMethod } from '../job/jobs.ts';
import type {
  DrainRequest,
  DrainResult,
  HookRequest,
  HookResult,
  Ladder,
  MachineView,
  ProofRequest,
  ProofResult,
  Recalled,
  RecallRequest,
  RemedyPermit,
} from '../remedy/remedy.ts';
import type { Notification } from '../notify/notification.ts';
import type { NodeHistory } from '../node/history.ts';
import type { MaintenanceView, OrderedQuarantine, ReturnResult } from '../node/maintenance.ts';
import type { NodeRecord, NodeView, Quarantined } from '../node/nodes.ts';
import type { CollectionDecision, JudgementRequest, PreflightDecision, Workload } from '../preflight/preflight.ts';
import type { PreflightNote } from '../preflight/runs.ts';
import type { OperatorRequest } from './messages.ts';
import type { VerifyRequest, VerifyResult } from '../recovery/verification.ts';
import type {
  AskRequest,
  CapacityDecision,
  CapacityFacts,
  CapacityPlan,
  CheckpointRequest,
  CheckpointResult,
  ResizeRequest,
  ResizeResult,
  Severity,
} from '../recovery/plan.ts';
import type {
  AttemptFacts,
  AwaitRequest,
  AwaitResult,
  Decided,
  IncidentRecord,
  OptInDecision,
  RecoveryDecision,
  RecoveryFacts,
  RecoveryOutcome,
  StopRequest,
  StopResult,
} from '../recovery/recovery.ts';
import type { IncidentDecision, IncidentFacts, BudgetEntry } from '../job/training-job.ts';

/** What `decideNode` looks at. */
export interface NodeFacts {
  readonly node?: NodeView;
  /** New faults only. */
  readonly faults: readonly Fault[];
  /** Highest kernel line already judged. */
  readonly judged?: Fault['kernel'];
  /** What rules over time remember. */
  readonly history?: NodeHistory;
  /** Milliseconds since the epoch; the time of the last fault without it. */
  readonly now?: number;
  /** The faults were judged before, and are in the history: what still follows from them? */
  readonly again?: true;
  /** Set when a person asked for the quarantine. */
  readonly askedBy?: { readonly by: string; readonly reason: string };
}

/** What each fault means for its node. `quarantine` wins over `restart`, that over `warn`, and `warn` over `record`. */
export type NodeDecision = Decided & {
  readonly kind: 'quarantine' | 'observe' | 'restart' | 'warn' | 'record';
  /** Value of the taint, at most 63 characters of a label value; set for `quarantine` and `observe`. */
  readonly reason?: string;
  /** The faults that count, without old and repeated ones. */
  readonly faults: readonly Fault[];
  /** Set for a quarantine whose only reason is a preflight. */
  readonly preflight?: PreflightScope;
  /** Nothing convicts the node yet: new pods stay off it until a person decides, and its jobs are left alone. */
  readonly asks?: true;
  /** Ids of the faults for which the jobs on the node are restarted while it stays in service. */
  readonly restarts?: readonly string[];
  /** How the node is repaired once it is quarantined; without it, a person does that. */
  readonly ladder?: Ladder;
  /** A fault took back what earlier ones lead to: a quarantine that is held may no longer be wanted. */
  readonly cancels?: true;
  /** For the next decision. */
  readonly history: NodeHistory;
  readonly remedy?: string;
  /** How long the workflow keeps running after faults that did not quarantine, ms. */
  readonly quietMs: number;
  /** How long a refused quarantine waits before it asks again, ms. */
  readonly askAgainMs: number;
};

export interface QuarantineRequest {
  readonly node: string;
  readonly uid: string;
  readonly incident: string;
  /** Taint value. */
  readonly reason: string;
  readonly because: string;
  readonly preflight?: PreflightScope;
}

export interface ReleaseRequest {
  readonly node: string;
  readonly uid: string;
  readonly incident: string;
  readonly judged?: Fault['kernel'];
  readonly history?: NodeHistory;
  /** Ids of its faults that stand in objects which a release does not read. */
  readonly reported?: readonly string[];
  readonly by: string;
  readonly because: string;
}

export interface ReleaseResult {
  /** `not-ours`: no taint of ours was there to remove. */
  readonly kind: 'released' | 'not-ours' | 'gone';
  /** A taint with our key that stays on the node, because no annotation says that this incident set it. */
  readonly remainingTaint?: string;
}

/** A Kubernetes Event. Written once per incident, reason and object, however often it is requested. */
export interface Announcement {
  readonly about:
    | { readonly kind: 'node'; readonly name: string; readonly uid?: string }
    | { readonly kind: 'job'; readonly job: JobRef }
    /** A pod of a workload that has no job object that kcover knows. */
    | { readonly kind: 'pod'; readonly namespace: string; readonly name: string; readonly uid: string };
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
  /** Incident or fault id: the Event's identity. */
  readonly key: string;
  /** Id of the storm that it belongs to, of which people were notified: this Event is written, and is no notification of its own. */
  readonly storm?: string | undefined;
}

/** Second argument of any activity: Events that it writes beside what it does. */
export interface Announcements {
  readonly events: readonly Announcement[];
}

/** What `decideCapacity` looks at. */
export interface CapacityRequest {
  readonly facts: CapacityFacts;
  readonly plan: CapacityPlan;
  readonly severity: Severity;
  /** Only a job that kcover suspends can be resized. */
  readonly by: StopMethod | 'pods';
  /** Standby nodes were taken, or an operator approved: neither is requested again. */
  readonly standbyTaken?: true;
  readonly approved?: true;
}

/** A workload of preflight pods. */
export type ObservedWorkload =
  | { readonly kind: 'there'; readonly optedIn: boolean }
  | { readonly kind: 'gone' | 'finished'; readonly because: string };

export interface Activities {
  decideNode(facts: NodeFacts): Promise<NodeDecision>;
  decideIncident(facts: IncidentFacts): Promise<IncidentDecision>;
  decideRecovery(facts: RecoveryFacts): Promise<RecoveryDecision>;
  /** Whether a job that opted in could be recovered at all; says what to change when not. */
  decideOptIn(job: JobView): Promise<OptInDecision>;

  /** Whether there is capacity for the next attempt, and what to do when there is not. */
  decideCapacity(request: CapacityRequest): Promise<CapacityDecision>;

  /** How long a run of reports may be collected. */
  decideCollection(request: { readonly size: number }): Promise<CollectionDecision>;
  /** The verdict of a run of preflight reports. */
  decidePreflight(request: JudgementRequest): Promise<PreflightDecision>;

  /** The Node object; null when it is gone. */
  observeNode(request: { readonly node: string }): Promise<NodeView | null>;
  /** Quarantined nodes and the stored pause, for a `cluster` workflow that starts without state. */
  observeCluster(request: { readonly clusterUid: string }): Promise<ClusterSeen>;
  /** Stores a pause or its end, unless something newer is stored. */
  storePause(word: StoredPause): Promise<void>;
  /** Requests a reservation from `cluster`, which is started where it does not run; concurrent requests of one worker are sent in one update. */
  reserveQuarantine(request: Omit<Reservation, 'since'> & { readonly byOperator?: boolean }): Promise<ReserveAnswer>;
  /** Taints the node and reads the taint back. Throws `node.gone` for another UID. */
  quarantineNode(request: QuarantineRequest): Promise<Quarantined>;
  /** Removes only what kcover set. */
  releaseNode(request: ReleaseRequest): Promise<ReleaseResult>;
  /** How often this machine, or one of its GPUs, was quarantined for faults. */
  recallIncidents(request: RecallRequest): Promise<Recalled>;
  /** Whether a remedy may act on its node now: mode, pause, what can be observed, the limit of nodes under repair, and the quarantine itself. */
  permitRepair(request: {
    readonly node: string;
    readonly uid: string;
    readonly incident: string;
  }): Promise<RemedyPermit>;
  /** The machine behind a Node object; null when it is gone. */
  observeMachine(request: { readonly node: string }): Promise<MachineView | null>;
  /** Whether a maintenance may begin, and which opted-in jobs are on its node; null when the node is gone. */
  observeMaintenance(request: { readonly node: string }): Promise<MaintenanceView | null>;
  /** Orders the quarantine of a node that is not quarantined yet, as a person does, and waits until it is in force. */
  orderQuarantine(request: OperatorRequest & { readonly node: string }): Promise<OrderedQuarantine>;
  /** Releases the quarantine of this incident, unless a fault has come that would quarantine the node. */
  returnNode(request: OperatorRequest & { readonly node: string; readonly incident: string }): Promise<ReturnResult>;
  /** Evicts what is neither a DaemonSet's, a mirror pod nor a pod of an opted-in job, and waits until it is gone. */
  drainNode(request: DrainRequest): Promise<DrainResult>;
  /** Runs a hook, or looks at the run that an earlier try began, and waits until it ends. Never throws for what the hook does. */
  runHook(request: HookRequest): Promise<HookResult>;
  /** Waits until the machine shows what is wanted. */
  awaitProof(request: ProofRequest): Promise<ProofResult>;
  /** Signals every opted-in job with pods on the node, and those that wait because a pod of theirs failed there. Returns the ids of their workflows. */
  notifyJobs(request: { readonly node: string; readonly faults: readonly Fault[] }): Promise<readonly string[]>;

  /** The job object; null when it, or this UID of it, is gone. */
  observeJob(request: { readonly job: JobRef }): Promise<JobView | null>;
  /** Job, pods and the blamed nodes in one observation; `pods`: UIDs of the pods that faults name. */
  observeAttempt(request: {
    readonly job: JobRef;
    readonly nodes: readonly string[];
    readonly pods?: readonly string[];
  }): Promise<AttemptFacts>;
  /**
   * Every pod of an attempt of which an observation kept only a part; `digest` is equal while the pods are the same. `unobservable`: why the
   * cluster could not be observed; the rest is empty then.
   */
  listPods(request: { readonly job: JobRef }): Promise<{
    readonly pods: readonly AttemptPod[];
    readonly terminating: readonly AttemptPod[];
    readonly digest: string;
    readonly unobservable?: string;
  }>;
  /** Stops the attempt and waits until its pods are observed gone. After a retry it looks before it repeats. */
  stopAttempt(request: StopRequest): Promise<StopResult>;
  /** Removes our own suspend, if it is still set. */
  resumeJob(request: { readonly job: JobRef; readonly incident: string }): Promise<{ readonly resumed: boolean }>;
  /** Waits until a complete new attempt is ready, with no pod on a quarantined node. */
  awaitAttempt(request: AwaitRequest): Promise<AwaitResult>;
  /** Waits until training passes a step. */
  verifyProgress(request: VerifyRequest): Promise<VerifyResult>;
  /** Waits until training has saved a step. */
  awaitCheckpoint(request: CheckpointRequest): Promise<CheckpointResult>;
  /** Checks capacity. `pods`: UIDs of those to be stopped; without it, all of the job. */
  observeCapacity(request: { readonly job: JobRef; readonly pods?: readonly string[] }): Promise<CapacityFacts>;
  /** Asks whether this recovery may begin in the present wave of those with one cause. `pod`: one of its pods, which has the priority of all. */
  joinWave(request: {
    readonly incident: string;
    readonly job: JobRef;
    readonly pod?: string;
    readonly pods: number;
    readonly rule: WaveRule;
  }): Promise<WaveAnswer>;
  /** Makes standby nodes schedulable; a node that is no longer one is left out. */
  takeStandbyNodes(request: {
    readonly incident: string;
    readonly nodes: readonly string[];
  }): Promise<{ readonly taken: readonly string[] }>;
  /** Changes the size or the priority of a job that this incident has suspended. */
  resizeJob(request: ResizeRequest): Promise<ResizeResult>;
  /** Asks the processes of a job, by annotations that the controller passes on, to restart training in place. */
  askProcesses(request: AskRequest): Promise<void>;
  /** Captures evidence of an attempt before it is stopped. */
  captureEvidence(request: EvidenceRequest): Promise<Evidence>;
  /** Removes the need-recovery label. */
  removeRecoveryLabel(request: { readonly job: JobRef }): Promise<void>;

  /** Signals each fault to the workflow of its node, starting it where needed. Returns the ids that Temporal did not accept, and why the first was not. */
  notifyNodes(request: {
    readonly faults: readonly Fault[];
  }): Promise<{ readonly unnotified: readonly string[]; readonly because?: string }>;
  /** Whether the workload still exists, and whether it is restarted when its nodes are quarantined. */
  observeWorkload(request: { readonly workload: Workload }): Promise<ObservedWorkload>;
  /** Writes the verdict to the job's annotation; does nothing when the job is gone. */
  noteVerdict(request: { readonly job: JobRef; readonly note: PreflightNote }): Promise<void>;

  announce(request: Announcements): Promise<void>;
  /** Sends notifications of one route, several as one. `more`: those that it also stands for. */
  deliverNotification(request: {
    readonly route: string;
    readonly notifications: readonly Notification[];
    readonly more: number;
  }): Promise<void>;
  /** Stores the record; a second one of the same incident overwrites it. Returns its address. */
  recordIncident(record: IncidentRecord | NodeRecord): Promise<{ readonly address: string }>;

  /** Recoveries of this job in the last hour, and one that is still open: for a job workflow that starts without state. */
  findRecoveries(request: {
    readonly job: JobRef;
  }): Promise<{ readonly usage: readonly BudgetEntry[]; readonly open?: string }>;
  /** Whether a recovery still runs, and its result when it closed. `stuck`: why it makes no progress, when its workflow task keeps failing. */
  lookAtRecovery(request: {
    readonly incident: string;
  }): Promise<
    | { readonly kind: 'running'; readonly stuck?: string }
    | { readonly kind: 'closed'; readonly report: RecoveryOutcome }
  >;
  /** Signals waiting workflows that a refusal may no longer apply; workflows that no longer run are skipped. */
  notifyWaiting(request: { readonly workflowIds: readonly string[] }): Promise<void>;
}
