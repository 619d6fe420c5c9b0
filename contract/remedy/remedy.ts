/**
 * The remedy of a quarantined node: a ladder of rungs, each a hook that acts on the machine and a proof that is observed afterwards. Plain JSON;
 * times in text are RFC 3339, in numbers milliseconds.
 */

import type { Fault } from '../faults/faults.ts';

/** What is observed after a hook to prove that it had an effect. `result`: the answer of the hook itself. */
export const proofs = ['rebooted', 'ready', 'allocatable', 'result'] as const;
export type Proof = (typeof proofs)[number];

/** One rung, as the settings had it when the quarantine began: a change of the settings does not change a remedy that runs. */
export interface Rung {
  /** Name of the hook in the settings. */
  readonly hook: string;
  readonly attempts: number;
  /** Longest time of one attempt until its proof, ms. */
  readonly timeoutMs: number;
  /** All of them are needed. */
  readonly proof: readonly Proof[];
  /** Hook that tests the node after the proof; without it, the proof is enough. */
  readonly verify?: string;
}

/** What is done with a quarantined node, decided from its faults. */
export interface Ladder {
  /** Name in the settings. */
  readonly name: string;
  readonly because: string;
  readonly rungs: readonly Rung[];
  /** How long a cured node is watched before it counts as returned, ms. */
  readonly probationMs: number;
  /** Who releases a node that was cured and verified. */
  readonly release: 'person' | 'verified';
  /** Incidents of this machine within `memoryMs` with which it is retired instead of repaired. */
  readonly retireAt: number;
  readonly memoryMs: number;
  /** Whether other workloads are evicted before the first rung, and how long that may take, ms. */
  readonly drainMs?: number;
}

/** The machine, read before a rung acts. */
export interface MachineView {
  readonly uid: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly ready: boolean;
  /** Allocatable accelerators by resource name. */
  readonly accelerators: Readonly<Record<string, number>>;
}

/** One run of a hook. */
export interface HookRequest {
  readonly hook: string;
  readonly node: string;
  readonly uid: string;
  readonly systemUuid: string;
  readonly incident: string;
  /**
   * Names this run in every system: DNS-1123 label, at most 52 characters. The same run has the same id after each retry; two runs never share
   * one.
   */
  readonly operation: string;
  /** Codes of the faults, and the devices they name. */
  readonly codes: readonly string[];
  readonly devices: readonly string[];
  readonly timeoutMs: number;
}

/**
 * How a run of a hook ended. `passed`: it says that it did what it is for. `failed`: it says that it did not. `busy`: somebody else works on the
 * node. `unknown`: it is not known whether it acted, or with what result; it is never run again by itself.
 */
export interface HookResult {
  readonly verdict: 'passed' | 'failed' | 'busy' | 'unknown';
  readonly because: string;
  /** Where more is to be found: a Job, an object, an id of the other system. */
  readonly reference?: string;
}

export interface ProofRequest {
  readonly node: string;
  readonly before: MachineView;
  /** Without `result`, which is known by then. */
  readonly proof: readonly Proof[];
  readonly timeoutMs: number;
}

export interface ProofResult {
  readonly outcome: 'proven' | 'not-proven' | 'gone';
  readonly because: string;
}

export interface DrainRequest {
  readonly node: string;
  readonly uid: string;
  readonly timeoutMs: number;
}

export interface DrainResult {
  readonly outcome: 'drained' | 'blocked' | 'gone';
  readonly because: string;
  /** Pods that were evicted. */
  readonly evicted: number;
  /** Pods that are still there, `namespace/name`, at most 20. */
  readonly remaining: readonly string[];
}

/** One attempt, for the record. */
export interface Remediation {
  readonly rung: string;
  readonly attempt: number;
  readonly operation: string;
  readonly begunAt: string;
  readonly endedAt: string;
  readonly outcome: 'cured' | 'failed' | 'not-proven' | 'not-verified' | 'busy' | 'unknown' | 'relapsed';
  readonly because: string;
  readonly reference?: string;
}

/** Input of the workflow `remedy`. */
export interface RemedyInput {
  readonly node: string;
  readonly uid: string;
  readonly systemUuid: string;
  readonly incident: string;
  readonly ladder: Ladder;
  readonly faults: readonly Fault[];
}

export const remedyPhases = [
  'remembering',
  'asking',
  'waiting',
  'draining',
  'remediating',
  'verifying',
  'probation',
] as const;
export type RemedyPhase = (typeof remedyPhases)[number];

/** Signal of a remedy to the workflow of its node. */
export interface RemedyProgress {
  readonly incident: string;
  readonly phase: RemedyPhase | 'ended';
  readonly because: string;
  readonly at: string;
  readonly until?: string;
  readonly remediations: readonly Remediation[];
  readonly outcome?: RemedyOutcome['outcome'];
  /** Set with the outcome `cured`: who releases the node. */
  readonly release?: Ladder['release'];
}

/** Signal `remedyCancelled`. */
export interface RemedyCancelled {
  readonly because: string;
}

/** Answer of the `status` query. */
export type RemedyStatus = RemedyProgress & {
  readonly node: string;
  readonly ladder: string;
  /** `2 of 3: reboot` */
  readonly rung: string;
  readonly waitingFor: string;
};

/** `over`: the node is gone, is another one, or is no longer quarantined by this incident. */
export type RemedyPermit =
  | { readonly kind: 'granted' }
  | { readonly kind: 'refused'; readonly because: string; readonly askAgainMs: number }
  | { readonly kind: 'over'; readonly because: string };

export interface RecallRequest {
  readonly node: string;
  readonly systemUuid: string;
  readonly incident: string;
  /** UUIDs of GPUs that the faults name. */
  readonly gpus: readonly string[];
  readonly memoryMs: number;
}

/** Incidents of a machine, and of its GPUs, whatever Node object they had. */
export interface Recalled {
  /** Ids, oldest first, the present one included. */
  readonly incidents: readonly string[];
  /** What could not be read. */
  readonly unread?: string;
}

export const remedyOutcomes = ['cured', 'exhausted', 'retired', 'cancelled'] as const;

/**
 * Result of `remedy`. `cured`: proven, verified and through its probation. `exhausted`: every rung was tried. `retired`: the machine has failed too
 * often. `cancelled`: the node was released, is gone, or is another machine.
 */
export interface RemedyOutcome {
  readonly node: string;
  readonly incident: string;
  readonly outcome: (typeof remedyOutcomes)[number];
  readonly because: string;
  readonly remediations: readonly Remediation[];
}
