/** What kcover knows of a node. */

import type { Fault, KernelPosition } from '../faults/faults.ts';
import type { Remediation, RemedyOutcome, RemedyProgress } from '../remedy/remedy.ts';
import type { NodeHistory } from './history.ts';

/** The Node object, read once. */
export interface NodeView {
  readonly name: string;
  readonly uid: string;
  /** Identifies the machine, whatever its Node object is called; empty when the kubelet does not report it. */
  readonly systemUuid: string;
  readonly ready: boolean;
  /** `spec.unschedulable`, set by kcover or by another client. */
  readonly cordoned: boolean;
  /** The taint with our key, if present, and whether kcover set it. */
  readonly taint?: { readonly value: string; readonly ours: boolean; readonly incident?: string };
  /** Last kernel line taken into account before a release. */
  readonly judged?: KernelPosition;
  /** What rules over time remembered at the last release; only where the node's own workflow reads it. */
  readonly history?: NodeHistory;
}

/** What was read back after a quarantine was written. */
export interface Quarantined {
  /** RFC 3339: when the taint was read back. */
  readonly at: string;
  /** `other`: the same taint was already there, set by another client. */
  readonly taint: 'ours' | 'other';
  readonly cordonedByUs: boolean;
}

/** Input of `nodeQuarantine`. */
export interface NodeInput {
  readonly node: string;
}

/** A quarantine in force. */
export interface NodeQuarantine {
  readonly incident: string;
  readonly since: number;
  readonly because: string;
  readonly reason: string;
  readonly taint: 'ours' | 'other' | 'none';
  readonly by: string;
  /** Until a person decides: no fault convicts the node, and its jobs were not notified. */
  readonly asks?: true;
}

/** The record of one quarantine: faults, node, taint and end. */
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
  /** No fault convicts the node. */
  readonly asks?: true;
  /** Attempts to repair the node, oldest first. */
  readonly remediations?: readonly Remediation[];
  /** How its remedy ended. */
  readonly remedy?: { readonly outcome: RemedyOutcome['outcome']; readonly because: string };
  /** Missing while it lasts. */
  readonly ended?: { readonly at: string; readonly outcome: NodeOutcome['outcome']; readonly because: string };
}

/** Result of `nodeQuarantine`, shown in the Temporal UI. */
export interface NodeOutcome {
  readonly node: string;
  /** `not-ours`: a release was requested, and a taint with our key stays that kcover did not set. */
  readonly outcome: 'released' | 'not-ours' | 'gone' | 'quiet';
  readonly because: string;
  readonly systemUuid?: string;
  /** The faults behind the quarantine when the Node object was deleted: if the same machine returns, it is quarantined again for them. */
  readonly quarantinedFor?: readonly Fault[];
}

/** Answer of the `faults` query of a node workflow: faults as jobs on the node receive them, while it is quarantined or to be quarantined. */
export interface NodeFaults {
  readonly faults: readonly Fault[];
}

/** Phases of a quarantine in force. A node that is repaired shows what its remedy does; `retired`: its machine has failed too often. */
export const quarantinedPhases = [
  'quarantined',
  'draining',
  'remediating',
  'verifying',
  'probation',
  'retired',
] as const;
export type QuarantinedPhase = (typeof quarantinedPhases)[number];

export const isQuarantined = ({ phase }: Pick<NodeStatus, 'phase'>): boolean =>
  quarantinedPhases.some((one) => one === phase);

/** Answer of the `status` query of a node workflow. */
export interface NodeStatus {
  readonly node: string;
  readonly uid?: string;
  readonly phase: 'deciding' | 'watching' | 'held' | 'releasing' | QuarantinedPhase;
  readonly because: string;
  readonly since: string;
  readonly incident?: string;
  readonly by?: string;
  readonly faults: readonly { readonly code: string; readonly message: string; readonly seenAt: string }[];
  readonly waitingFor: string;
  readonly until?: string;
  /** How the node is, or was, repaired in this quarantine. */
  readonly remedy?: RemedyProgress;
}
