/**
 * Everything a workflow can ask of the world, one interface for both sides.
 * `decide*` are pure policy, run as local activities so that history shows the decision; all others read or change the cluster.
 * Every effect is safe to repeat. Errors follow `errors.ts`.
 */

import type { ClusterSeen, PauseWord, PreflightScope, ReserveAnswer, Reservation } from './cluster.ts';
import type { Evidence, EvidenceRequest } from './evidence.ts';
import type { Fault } from './faults.ts';
import type { EventReason } from './ids.ts';
import type { AttemptPod, JobRef, JobView, StopMethod } from './jobs.ts';
import type { NodeRecord, NodeView, Quarantined } from './nodes.ts';
import type { CollectionDecision, JudgementRequest, PreflightDecision, Workload } from './preflight.ts';
import type { PreflightNote } from './preflight-runs.ts';
import type { VerifyRequest, VerifyResult } from './verification.ts';
import type {
  CapacityDecision,
  CapacityFacts,
  CapacityPlan,
  CheckpointRequest,
  CheckpointResult,
  ResizeRequest,
  ResizeResult,
  Severity,
} from './recovery-plan.ts';
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
} from './recovery.ts';
import type { IncidentDecision, IncidentFacts, BudgetEntry } from './training-job.ts';

/** What `decideNode` looks at. */
export interface NodeFacts {
  readonly node?: NodeView;
  /** New faults only. */
  readonly faults: readonly Fault[];
  /** Highest kernel line already judged. */
  readonly judged?: Fault['kernel'];
  /** Set when a person asked for the quarantine. */
  readonly askedBy?: { readonly by: string; readonly reason: string };
}

/** What each fault means for its node. `quarantine` wins over `restart`, that over `warn`, and `warn` over `record`. */
export type NodeDecision = Decided & {
  readonly kind: 'quarantine' | 'observe' | 'restart' | 'warn' | 'record';
  /** Value of the taint, at most 63 characters of a label value; set for `quarantine` and `observe`. */
  readonly reason?: string;
  /** The faults that count; what is old or repeated is left out. */
  readonly faults: readonly Fault[];
  /** Set for a quarantine for which nothing but a preflight asks. */
  readonly preflight?: PreflightScope;
  readonly remedy?: string;
  /** How long the workflow stays after faults that did not quarantine, ms. */
  readonly quietMs: number;
  /** How long a refused quarantine waits before it asks again by itself, ms. */
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
  readonly by: string;
  readonly because: string;
}

export interface ReleaseResult {
  /** `not-ours`: there was nothing of ours to take off. */
  readonly kind: 'released' | 'not-ours' | 'gone';
  /** A taint of our key that stays on the node, because nothing says that it is ours or of this incident. */
  readonly remainingTaint?: string;
}

/** A Kubernetes Event. Written once for the same incident, reason and object, however often it is asked for. */
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
}

/** What `decideCapacity` looks at. */
export interface CapacityRequest {
  readonly facts: CapacityFacts;
  readonly plan: CapacityPlan;
  readonly severity: Severity;
  /** Only a job that we suspend can be given another size. */
  readonly by: StopMethod | 'pods';
  /** Stand-by nodes were taken, or a person has agreed: neither is asked for again. */
  readonly standbyTaken?: true;
  readonly approved?: true;
}

/** A workload of preflight pods. */
export type WorkloadSeen = { readonly kind: 'there'; readonly optedIn: boolean } | { readonly kind: 'gone' | 'finished'; readonly because: string };

export interface Activities {
  decideNode(facts: NodeFacts): Promise<NodeDecision>;
  decideIncident(facts: IncidentFacts): Promise<IncidentDecision>;
  decideRecovery(facts: RecoveryFacts): Promise<RecoveryDecision>;
  /** Whether a job that opted in could be recovered at all; says what to change when not. */
  decideOptIn(job: JobView): Promise<OptInDecision>;

  /** Whether there is room for the next attempt, and what to do when there is not. */
  decideCapacity(request: CapacityRequest): Promise<CapacityDecision>;

  /** How long a run of reports may be collected. */
  decideCollection(request: { readonly size: number }): Promise<CollectionDecision>;
  /** The verdict of a run of preflight reports. */
  decidePreflight(request: JudgementRequest): Promise<PreflightDecision>;

  /** The Node object; null when it is gone. */
  observeNode(request: { readonly node: string }): Promise<NodeView | null>;
  /** The nodes that are out already, and the pause that was kept: for a `cluster` that starts with nothing. */
  observeCluster(request: { readonly clusterUid: string }): Promise<ClusterSeen>;
  /** Keeps what was said about a pause, unless something newer is kept. */
  keepPause(word: PauseWord): Promise<void>;
  /** Asks `cluster`, which is started where it does not run, for the right to keep a node out; several requests of one worker travel together. */
  reserveQuarantine(request: Omit<Reservation, 'since'> & { readonly byOperator?: boolean }): Promise<ReserveAnswer>;
  /** Puts our taint on the node and reads it back, or finds it there. Throws `NodeGone` for another UID. */
  quarantineNode(request: QuarantineRequest): Promise<Quarantined>;
  /** Takes off what is ours, and nothing else. */
  releaseNode(request: ReleaseRequest): Promise<ReleaseResult>;
  /** Finds the opted-in jobs with pods on the node and signals each; returns whom it told. */
  notifyJobs(request: { readonly node: string; readonly faults: readonly Fault[] }): Promise<readonly JobRef[]>;

  /** The job object; null when it, or this UID of it, is gone. */
  observeJob(request: { readonly job: JobRef }): Promise<JobView | null>;
  /** Job, pods and the blamed nodes in one look; `pods` are the UIDs of those that faults name. */
  observeAttempt(request: { readonly job: JobRef; readonly nodes: readonly string[]; readonly pods?: readonly string[] }): Promise<AttemptFacts>;
  /**
   * Every pod of an attempt that a look has left out most of, with the digest of that look when those present are the same. `blind`: why nothing
   * could be seen; the rest is empty then.
   */
  listPods(request: { readonly job: JobRef }): Promise<{
    readonly pods: readonly AttemptPod[];
    readonly terminating: readonly AttemptPod[];
    readonly digest: string;
    readonly unobservable?: string;
  }>;
  /** Stops the attempt and waits until its pods are observed gone. After a retry it looks before it repeats. */
  stopAttempt(request: StopRequest): Promise<StopResult>;
  /** Takes off our own suspend, if the job still carries it. */
  resumeJob(request: { readonly job: JobRef; readonly incident: string }): Promise<{ readonly resumed: boolean }>;
  /** Waits until a whole new attempt is ready, none of it on a quarantined node. */
  awaitAttempt(request: AwaitRequest): Promise<AwaitResult>;
  /** Waits until training passes a step. */
  verifyProgress(request: VerifyRequest): Promise<VerifyResult>;
  /** Waits until training has saved a step. */
  awaitCheckpoint(request: CheckpointRequest): Promise<CheckpointResult>;
  /** Looks for room: `pods` (UIDs) are those that are to be stopped, or all of the job. */
  observeCapacity(request: { readonly job: JobRef; readonly pods?: readonly string[] }): Promise<CapacityFacts>;
  /** Makes stand-by nodes take pods; who is no longer a stand-by node is left out. */
  takeStandbyNodes(request: { readonly incident: string; readonly nodes: readonly string[] }): Promise<{ readonly taken: readonly string[] }>;
  /** Changes the size or the priority of a job that this incident has suspended. */
  resizeJob(request: ResizeRequest): Promise<ResizeResult>;
  /** Asks the processes of a job, by an annotation, to start training anew by themselves. */
  askProcesses(request: { readonly incident: string; readonly job: JobRef; readonly attempt: number }): Promise<void>;
  /** Keeps what can be had of an attempt before it is stopped. */
  captureEvidence(request: EvidenceRequest): Promise<Evidence>;
  /** Removes the need-recovery label. */
  removeRecoveryLabel(request: { readonly job: JobRef }): Promise<void>;

  /** Tells each fault to the workflow of its node, which is started where none runs; returns the ids of those that Temporal did not take, and why the first was not. */
  notifyNodes(request: { readonly faults: readonly Fault[] }): Promise<{ readonly unnotified: readonly string[]; readonly because?: string }>;
  /** Whether the workload is still there to be tested, and is restarted when its nodes are quarantined. */
  observeWorkload(request: { readonly workload: Workload }): Promise<WorkloadSeen>;
  /** Leaves the verdict on the job; nothing to do when the job is gone. */
  noteVerdict(request: { readonly job: JobRef; readonly note: PreflightNote }): Promise<void>;

  announce(request: { readonly events: readonly Announcement[] }): Promise<void>;
  /** Stores the document; the same incident again overwrites it. Returns its address. */
  recordIncident(record: IncidentRecord | NodeRecord): Promise<{ readonly address: string }>;

  /** Recoveries of this job in the last hour, and one that is still open: for a job workflow that starts anew. */
  findRecoveries(request: { readonly job: JobRef }): Promise<{ readonly usage: readonly BudgetEntry[]; readonly open?: string }>;
  /** Whether a recovery still runs; with its outcome when it closed. `stuck`: why it does not get on, when its workflow task fails again and again. */
  lookAtRecovery(request: {
    readonly incident: string;
  }): Promise<{ readonly kind: 'running'; readonly stuck?: string } | { readonly kind: 'closed'; readonly report: RecoveryOutcome }>;
  /** Tells those who wait that a refusal may no longer hold; who is gone is skipped. */
  notifyWaiting(request: { readonly workflowIds: readonly string[] }): Promise<void>;
}
