/** What kcover knows of a node. */

import type { PreflightScope } from './cluster.ts';
import type { Fault, KernelPosition } from './faults.ts';
import type { OperatorRequest } from './messages.ts';

/** The Node object, read once. */
export interface NodeView {
  readonly name: string;
  readonly uid: string;
  /** The machine itself, whatever its Node object is called; empty when the kubelet does not say. */
  readonly systemUuid: string;
  readonly ready: boolean;
  /** `spec.unschedulable`, whoever set it. */
  readonly cordoned: boolean;
  /** The taint of our key, if the node carries it, and whether it is ours. */
  readonly taint?: { readonly value: string; readonly ours: boolean; readonly incident?: string };
  /** Last kernel line judged before a release. */
  readonly judged?: KernelPosition;
}

/** What was found after a quarantine was written. */
export interface Quarantined {
  /** RFC 3339: when the taint was read back. */
  readonly at: string;
  /** `other`: the same taint was there already and belongs to somebody else. */
  readonly taint: 'ours' | 'other';
  readonly cordonedByUs: boolean;
}

/** Input of `nodeQuarantine`. */
export interface NodeInput {
  readonly node: string;
  readonly continued?: ContinuedNode;
}

/** What survives continue-as-new. Times are milliseconds since the epoch. */
export interface ContinuedNode {
  readonly uid?: string;
  readonly systemUuid?: string;
  readonly quarantine?: NodeQuarantine;
  readonly held?: HeldQuarantine;
  readonly faults: readonly Fault[];
  readonly inbox: readonly Fault[];
  /** Highest kernel line seen, per boot. */
  readonly judged?: KernelPosition;
  readonly quietSince: number;
  readonly quietMs: number;
  readonly askAgainMs: number;
  readonly because: string;
  readonly dropped: number;
  readonly asked?: OperatorRequest;
  readonly release?: OperatorRequest;
  /** When a release that failed is tried again. */
  readonly releaseAt?: number;
}

/** A quarantine that was decided and may not be written yet. */
export interface HeldQuarantine {
  readonly because: string;
  readonly since: number;
  readonly incident: string;
  readonly reason: string;
  readonly by: string;
  readonly preflight?: PreflightScope;
  /** The cluster has granted it, and it may have been written. */
  readonly reserved?: boolean;
  /** The refusal that jobs and people were told of. */
  readonly reported?: string;
}

/** A quarantine in force. */
export interface NodeQuarantine {
  readonly incident: string;
  readonly since: number;
  readonly because: string;
  readonly reason: string;
  readonly taint: 'ours' | 'other' | 'none';
  readonly by: string;
}

/** The document of one quarantine: which lines, on which node, what was done, by whom it ended. */
export interface NodeRecord {
  readonly schema: 1;
  readonly incident: string;
  readonly node: string;
  readonly uid: string;
  readonly systemUuid: string;
  readonly because: string;
  readonly by: string;
  readonly quarantinedAt: string;
  readonly taint: NodeQuarantine['taint'];
  readonly faults: readonly Fault[];
  /** Missing while it lasts. */
  readonly ended?: { readonly at: string; readonly outcome: NodeOutcome['outcome']; readonly because: string };
}

/** Result of `nodeQuarantine`, shown in the Temporal UI. */
export interface NodeOutcome {
  readonly node: string;
  /** `not-ours`: it was to be released, and a taint of our key stays that is not ours to take off. */
  readonly outcome: 'released' | 'not-ours' | 'gone' | 'quiet';
  readonly because: string;
  readonly systemUuid?: string;
  /** What kept it quarantined when it went: the same machine is quarantined again with it when it returns. */
  readonly quarantinedFor?: readonly Fault[];
}

/** Answer of the `status` query of a node workflow. */
export interface NodeStatus {
  readonly node: string;
  readonly uid?: string;
  readonly phase: 'deciding' | 'watching' | 'quarantined' | 'held' | 'releasing';
  readonly because: string;
  readonly since: string;
  readonly incident?: string;
  readonly by?: string;
  readonly faults: readonly { readonly code: string; readonly message: string; readonly seenAt: string }[];
  readonly waitingFor: string;
  readonly until?: string;
}
