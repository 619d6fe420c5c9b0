/** The workflow that holds what a whole cluster shares: reservations and the pause switch. */

/** Input of `cluster`. */
export interface ClusterInput {
  /** UID of the namespace `kube-system`: one Temporal namespace serves one Kubernetes cluster. */
  readonly clusterUid: string;
  readonly carried?: CarriedCluster;
}

/** A node that may be kept out of service. Times are milliseconds since the epoch. */
export interface Reservation {
  readonly nodeUid: string;
  readonly node: string;
  readonly incident: string;
  readonly since: number;
}

/** What survives continue-as-new. */
export interface CarriedCluster {
  readonly reservations: readonly Reservation[];
  readonly paused?: Paused;
  /** Workflow ids that were refused and want to hear of a change. */
  readonly waiting: readonly string[];
}

export interface Paused {
  readonly by: string;
  readonly reason: string;
  readonly since: number;
}

/** Update `reserve`: asked in lists, keyed by node UID, so that asking again returns the same reservation. */
export interface ReserveRequest {
  /** How many nodes may be out at once, and why that many. */
  readonly limit: { readonly nodes: number; readonly because: string };
  readonly wanted: readonly (Omit<Reservation, 'since'> & { /** Asked by a person: beyond limit and pause. */ readonly byOperator?: boolean })[];
}
export type ReserveAnswer =
  | { readonly granted: true; readonly nodeUid: string; readonly incident: string }
  | { readonly granted: false; readonly nodeUid: string; readonly because: string };

/** Signal `waiting`: tell this workflow when a refusal may no longer hold. */
export interface Waiting {
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
  readonly waiting: readonly string[];
}
