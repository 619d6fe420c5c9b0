/** What a fault is, whoever saw it. */

/** What the maker of a device, or a site's own table, says to do about a code. */
export const actions = ['ignore', 'restart-app', 'reset-gpu', 'reboot', 'contact-support'] as const;
export type Action = (typeof actions)[number];

/** Whether a code is still emitted by supported hardware; retired and unknown codes never act by themselves. */
export type Standing = 'current' | 'retired' | 'unknown';

/** Who saw it: a kernel line, a pod's containers, the Node object, the tests before a run, training that stands still, or a person who asks for a recovery. */
export type FaultSource = 'kernel' | 'pod' | 'node' | 'preflight' | 'progress' | 'operator';

/** Where a kernel line stood: unique on its node, and ordered within one boot. */
export interface KernelPosition {
  readonly bootId: string;
  /** Record number of /dev/kmsg; the byte offset where a plain file stands in for it. */
  readonly sequence: number;
}

/** The pod whose container died. */
export interface FaultyPod {
  readonly name: string;
  readonly uid: string;
  /** RFC 3339, the API server's clock, whole seconds. */
  readonly createdAt: string;
}

/**
 * What became of the node that a fault blames, told by the node's workflow: kept free of new pods, refused so far,
 * left alone because the mode is `observe`, given back, or out by itself: not ready, so that Kubernetes keeps it free.
 */
export interface QuarantineStatus {
  readonly state: 'quarantined' | 'held' | 'observed' | 'released' | 'not-ready';
  readonly because: string;
}

/** One normalised observation. `id` is the same however often it is delivered. */
export interface Fault {
  readonly id: string;
  readonly source: FaultSource;
  /** `xid/79`, `sxid/20034`, `kernel/gpu-off-bus`, `pod/exit`, `pod/oom-killed`, `pod/evicted`, `operator/recover`, ... */
  readonly code: string;
  /** At most 500 characters, one line. */
  readonly message: string;
  /** RFC 3339, the clock of whoever saw it. */
  readonly seenAt: string;
  readonly node?: string;
  /** PCI address `dddd:bb:dd`. */
  readonly device?: string;
  /** What the catalogue says; absent when it says nothing. */
  readonly action?: Action;
  readonly standing?: Standing;
  readonly kernel?: KernelPosition;
  readonly pod?: FaultyPod;
  readonly quarantine?: QuarantineStatus;
  /** UID of the only job that it concerns; without it, every job on the node. */
  readonly job?: string;
  /** Of a preflight: the namespace of the pods that tested. */
  readonly namespace?: string;
  /** Of a pod's failure: why its node could not have said what it died of. Told again without it once the node is seen. */
  readonly unobservable?: string;
  /** Lines around it; at most 5 of 500 characters. */
  readonly evidence?: readonly string[];
}

/** Whom a fault blames, the strongest first: what stands before explains what stands after. */
export const blames = ['hardware', 'platform', 'user', 'unknown'] as const;
export type Blame = (typeof blames)[number];

/** Code of the fault of a job whose training stands still; it blames no node, and `seenAt` is when that was noticed. */
export const trainingHangs = 'progress/hang';

/** Code of the fault of a node whose kubelet no longer answers for it. */
export const nodeNotReady = 'node/not-ready';

/** Codes of what a preflight finds: a node that makes its pairs slow, and checks that found the node itself broken. */
export const preflightFaults = { slow: 'preflight/slow-node', gpu: 'preflight/gpu-check', storage: 'preflight/storage-check' } as const;

/** Limits that every fault keeps, so that a signal of 100 of them stays far below Temporal's payload limit. */
export const faultLimits = { id: 200, code: 64, message: 500, evidenceLines: 5, evidenceLine: 500, perSignal: 100 } as const;
