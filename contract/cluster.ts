/** The workflow that holds the state shared by the whole cluster: reservations and the pause switch. */

/** Input of `cluster`. */
export interface ClusterInput {
  /** UID of the namespace `kube-system`: one Temporal namespace serves one Kubernetes cluster. */
  readonly clusterUid: string;
}

/** The right to keep a node out of service. Times are milliseconds since the epoch. */
export interface Reservation {
  readonly nodeUid: string;
  readonly node: string;
  readonly incident: string;
  readonly since: number;
  /** Set when a preflight is the only reason. */
  readonly preflight?: PreflightScope;
  /** Value of the taint, such as `xid-79`; missing where only the node says that it is out. */
  readonly cause?: string;
  /** Pools and failure domains of the node that have a limit, as `label=value`. */
  readonly domains?: readonly string[];
}

/** The namespace of the pods that ran the preflight. */
export interface PreflightScope {
  readonly namespace: string;
}

export interface Paused {
  readonly by: string;
  readonly reason: string;
  readonly since: number;
}

/** The last pause or resume of the whole cluster. Stored in a ConfigMap, so that it outlives the workflow. */
export interface StoredPause {
  readonly state: 'paused' | 'open';
  readonly by: string;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** What a run that starts without state must read before it grants anything. */
export interface ClusterSeen {
  /** Nodes with our taint and annotation. */
  readonly out: readonly Reservation[];
  readonly pause?: StoredPause;
  /** Nodes that remedies work on. */
  readonly repairs?: readonly Repair[];
}

/** How many nodes kcover may keep out at once, and why. */
export interface NodeLimit {
  readonly nodes: number;
  readonly because: string;
}

/** When nodes count as one incident. */
export interface StormRule {
  /** So many nodes of one place with one cause. */
  readonly nodes: number;
  readonly withinMs: number;
  /** How long none may follow before repairs begin. */
  readonly quietMs: number;
}

/** Nodes of one place that were quarantined for one cause within minutes. Times are milliseconds since the epoch. */
export interface Storm {
  /** `storm/<cause>/<place>/<UTC time>`; a character of the place that is not of an id is `-`. */
  readonly id: string;
  /** Value of the taint, such as `xid-79`. */
  readonly cause: string;
  /** `label=value`, or `the cluster`. */
  readonly place: string;
  readonly since: number;
  readonly nodes: readonly string[];
  readonly quietMs: number;
  /** No repair begins before. */
  readonly until: number;
  /** Repairs in a row that helped. */
  readonly helped: number;
}

/** Every limit holds at once. */
export interface ReserveLimit extends NodeLimit {
  /** By `label=value`, for the domains of the nodes that are asked for. */
  readonly domains?: Readonly<Record<string, NodeLimit>>;
  /** How many of those may have a preflight as their only reason. */
  readonly preflight: { readonly nodes: number; readonly perNamespace: number; readonly because: string };
}

/** Update `reserve`, a list keyed by node UID: asking again returns the same reservation. */
export interface ReserveRequest {
  readonly limit: ReserveLimit;
  readonly storm: StormRule;
  readonly wanted: readonly (Omit<Reservation, 'since'> & {
    /** Requested by a person: limit and pause do not apply. */ readonly byOperator?: boolean;
  })[];
}
/** `storm`: id of the open storm that the quarantine belongs to, of which people were notified. */
export type ReserveAnswer = { readonly nodeUid: string; readonly storm?: string } & (
  | { readonly granted: true; readonly incident: string }
  | { readonly granted: false; readonly because: string }
);

/** A node that a remedy works on. Times are milliseconds since the epoch. */
export interface Repair {
  /** Id of the workflow. */
  readonly remedy: string;
  readonly node: string;
  readonly since: number;
}

/** Update `permitRepair`: a remedy that asks again keeps what it has. */
export interface PermitRequest {
  readonly remedy: string;
  readonly node: string;
  /** Most nodes under repair at once. */
  readonly most: number;
}
export type PermitAnswer = { readonly granted: true } | { readonly granted: false; readonly because: string };

/** How many pods may be stopped at once by recoveries of several nodes with one cause. */
export interface WaveRule {
  readonly pods: number;
  readonly everyMs: number;
}

/** Update `joinWave`: asking again in the same wave gives the same answer. */
export interface WaveRequest {
  /** Id of the recovery's workflow. */
  readonly recovery: string;
  /** Those to be stopped. */
  readonly pods: number;
  /** Of its pods, as Kubernetes has it: higher comes first. */
  readonly priority: number;
  readonly rule: WaveRule;
}
export type WaveAnswer =
  | { readonly granted: true; readonly wave: number }
  | { readonly granted: false; readonly because: string; readonly lookAgainMs: number };

/** Recoveries that began together. `since`: milliseconds since the epoch. */
export interface Wave {
  readonly number: number;
  readonly since: number;
  readonly pods: number;
  readonly recoveries: number;
}

/** Signal `repairEnded`. */
export interface RepairEnded {
  readonly remedy: string;
  /** How it ended; missing where its workflow was lost. */
  readonly outcome?: string;
}

/** Signal `waiting`: notify this workflow when a refusal may no longer apply. */
export interface WaitingWorkflow {
  readonly workflowId: string;
}

/** Signal `returned`: reservations that are no longer needed. */
export interface Returned {
  readonly nodeUids: readonly string[];
}

/** Answer of the `status` query. */
export interface ClusterStatus {
  readonly clusterUid: string;
  readonly reservations: readonly Reservation[];
  readonly repairs: readonly Repair[];
  readonly storms: readonly Storm[];
  /** The last waves of recoveries, oldest first. */
  readonly waves: readonly Wave[];
  /** Recoveries that wait for a wave, first to begin first. */
  readonly waitingForWave: readonly string[];
  readonly paused?: Paused;
  /** Why the last pause or resume is not yet stored outside of Temporal. */
  readonly unstored?: string;
  /** `counting` until the quarantined nodes are counted and a stored pause is read. */
  readonly phase: 'counting' | 'open' | 'paused';
  readonly waiting: readonly string[];
}
