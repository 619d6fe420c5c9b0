/** The workflow that holds what a whole cluster shares: reservations and the pause switch. */

/** Input of `cluster`. */
export interface ClusterInput {
  /** UID of the namespace `kube-system`: one Temporal namespace serves one Kubernetes cluster. */
  readonly clusterUid: string;
  readonly continued?: ContinuedCluster;
}

/** A node that may be kept out of service. Times are milliseconds since the epoch. */
export interface Reservation {
  readonly nodeUid: string;
  readonly node: string;
  readonly incident: string;
  readonly since: number;
  /** Set when nothing but a preflight speaks against the node: whose it was. */
  readonly preflight?: PreflightScope;
}

/** The namespace of the pods that tested. */
export interface PreflightScope {
  readonly namespace: string;
}

/** What survives continue-as-new. */
export interface ContinuedCluster {
  readonly reservations: readonly Reservation[];
  readonly paused?: Paused;
  /** A pause, or its end, that is not yet stored outside of Temporal. */
  readonly unkept?: PauseWord;
  /** Workflow ids that were refused and want to hear of a change. */
  readonly waiting: readonly string[];
}

export interface Paused {
  readonly by: string;
  readonly reason: string;
  readonly since: number;
}

/** What a person said last about a pause of the whole cluster. Kept in a ConfigMap, so that it outlives the workflow. */
export interface PauseWord {
  readonly state: 'paused' | 'open';
  readonly by: string;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** What a run that was not carried must know before it grants anything. */
export interface ClusterSeen {
  /** Nodes that carry our taint and annotation. */
  readonly out: readonly Reservation[];
  readonly pause?: PauseWord;
}

/** How many nodes may be out at once, and why that many. */
export interface ReserveLimit {
  readonly nodes: number;
  readonly because: string;
  /** Of those, for what only a preflight says. */
  readonly preflight: { readonly nodes: number; readonly perNamespace: number; readonly because: string };
}

/** Update `reserve`: asked in lists, keyed by node UID, so that asking again returns the same reservation. */
export interface ReserveRequest {
  readonly limit: ReserveLimit;
  readonly wanted: readonly (Omit<Reservation, 'since'> & { /** Asked by a person: beyond limit and pause. */ readonly byOperator?: boolean })[];
}
export type ReserveAnswer =
  | { readonly granted: true; readonly nodeUid: string; readonly incident: string }
  | { readonly granted: false; readonly nodeUid: string; readonly because: string };

/** Signal `waiting`: tell this workflow when a refusal may no longer hold. */
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
  readonly paused?: Paused;
  /** Why what was last said about a pause is not yet stored outside of Temporal. */
  readonly unkept?: string;
  /** False until the nodes that are out already are counted and a kept pause is read. */
  readonly counted: boolean;
  readonly waiting: readonly string[];
}
