/** A fault, whatever its source. */

import type { Action } from './action.ts';
import type { Suspect } from '../recovery/evidence.ts';
import { type FaultSource, traitsOf } from './sources.ts';

export { type Action, actions } from './action.ts';
export { type Blame, blames } from './blame.ts';

/** Whether a code is still emitted by supported hardware; retired and unknown codes never act by themselves. */
export const standings = ['current', 'retired', 'unknown'] as const;
export type Standing = (typeof standings)[number];

/** Position of a kernel line: unique on its node, and ordered within one boot. */
export interface KernelPosition {
  readonly bootId: string;
  /** Record number of /dev/kmsg, or the byte offset where a plain file is read instead. */
  readonly sequence: number;
}

/** The pod whose container failed. */
export interface FaultyPod {
  readonly name: string;
  readonly uid: string;
  /** RFC 3339, the API server's clock, whole seconds. */
  readonly createdAt: string;
}

/**
 * State of the node that a fault blames, reported by the node's workflow: quarantined, refused so far, unchanged because the mode is
 * `observe`, released, not ready, so that Kubernetes itself keeps new pods off, or in service: only its jobs must restart.
 */
export interface QuarantineStatus {
  readonly state: (typeof quarantineStates)[number];
  readonly because: string;
  /** Id of the open storm that the quarantine belongs to. */
  readonly storm?: string;
}

export const quarantineStates = ['quarantined', 'held', 'observed', 'released', 'not-ready', 'in-service'] as const;

/**
 * One normalised observation. `id` is the same however often it is delivered. What arrives from outside is checked by the schema in
 * `fault.schema.ts`; workflows, which cannot load it, check by hand. The compiler refuses a field that either of them lacks.
 */
export interface Fault {
  readonly id: string;
  readonly source: FaultSource;
  /** `xid/79`, `sxid/20034`, `kernel/gpu-off-bus`, `pod/exit`, `pod/oom-killed`, `pod/evicted`, `operator/recover`, ... */
  readonly code: string;
  /** At most 500 characters, one line. */
  readonly message: string;
  /** RFC 3339, the clock of the observer. */
  readonly seenAt: string;
  readonly node?: string;
  /** PCI address `dddd:bb:dd`. */
  readonly device?: string;
  /** What the catalogue says; absent when it says nothing. */
  readonly action?: Action;
  readonly standing?: Standing;
  readonly kernel?: KernelPosition;
  /** When the kernel wrote the line, microseconds since its boot; absent where the line does not show it. */
  readonly kernelUs?: number;
  /** Others than its node may have written it: it leads at most to `ask`, and no rule counts it. */
  readonly untrusted?: true;
  readonly pod?: FaultyPod;
  readonly quarantine?: QuarantineStatus;
  /** UID of the only job that it concerns; without it, all jobs on the node. */
  readonly job?: string;
  /** For a preflight: the namespace of the pods that tested. */
  readonly namespace?: string;
  /** For a pod failure: why its node could not report a cause. Sent again without it once the node can be observed. */
  readonly unobservable?: string;
  /** RFC 3339: from then on another system may take the node away, so its jobs must have left before. */
  readonly deadline?: string;
  /** Lines around it; at most 5 of 500 characters. */
  readonly evidence?: readonly string[];
  /** Of training that hangs: everything that says so, a sentence each; at most 5 of 200 characters. */
  readonly witnesses?: readonly string[];
  /** Of training that hangs: at most 5. */
  readonly suspects?: readonly Suspect[];
}

/** Code of the fault of a job whose training hangs; it blames no node, and `seenAt` is when that was noticed. */
export const trainingHangs = 'progress/hang';

/** Code of the fault of a job that makes no step, as far as its log shows, while nothing else says that it hangs. It is only reported. */
export const noStepInLog = 'progress/no-step';

/** Code of the fault of a job whose steps take longer than they did. It blames no node, and is only reported. */
export const trainingSlow = 'progress/slow';

/** Whether it is a line of a log that a query selects, and the query asks for no restart. */
export const isNoticedLine = ({ source, action }: Pick<Fault, 'source' | 'action'>): boolean =>
  action === undefined && traitsOf(source).onlyReportsWithoutAction === true;

/** Whether a fault leads to an Event and to nothing else: it neither joins a recovery nor changes its course. */
export const isOnlyReported = (fault: Pick<Fault, 'source' | 'code' | 'action'>): boolean =>
  fault.code === noStepInLog || fault.code === trainingSlow || isNoticedLine(fault);

/** Code of the fault of a node whose kubelet no longer answers for it. */
export const nodeNotReady = 'node/not-ready';

/** Code of the fault with which jobs on a node learn of its planned maintenance. */
export const plannedMaintenance = 'external/maintenance';

/** Code of the fault that stands for a request of a person. */
export const recoveryRequested = 'operator/recover';

/** Codes of preflight findings: a node that slows down its pairs, and failed checks of the node itself. */
export const preflightFaults = {
  slow: 'preflight/slow-node',
  gpu: 'preflight/gpu-check',
  storage: 'preflight/storage-check',
} as const;

/** Limits of every fault, so that a signal of 100 of them stays far below Temporal's payload limit. */
export const faultLimits = {
  id: 200,
  code: 64,
  /** RFC 3339. */
  time: 40,
  message: 500,
  /** Name of a node or a pod. */
  name: 253,
  namespace: 63,
  /** UID of a job or a pod, id of a boot, address of a device. */
  identifier: 64,
  evidenceLines: 5,
  evidenceLine: 500,
  witnesses: 5,
  witness: 200,
  suspects: 5,
  storm: 400,
  perSignal: 100,
} as const;
