/**
 * Preflight: the nodes of a workload are tested in pairs before it trains. Every rank writes a report. The reports of one set of pods form
 * a run, and each run ends with a verdict on every node.
 */

import type { Fault } from '../faults/faults.ts';
import type { JobRef } from '../job/jobs.ts';
import type { Decided } from '../recovery/recovery.ts';

/** Bounds of one report and of one run: the file is untrusted, a tenant writes it. */
export const preflightLimits = {
  /** Bytes of a report file; a longer one is refused before it is parsed. */
  fileBytes: 1024 * 1024,
  /** Ranks of a workload. */
  size: 10_000,
  /** Most rounds of a report. */
  rounds: 16,
  /** Characters of an address, and of a reason. */
  address: 64,
  because: 100,
  /** Reports in one signal. */
  perSignal: 100,
} as const;

/** Characters of an address: IPs with or without a zone, host names. */
export const addressPattern = /^[\w.:%[\]-]*$/;
/** Characters of a node name. */
export const nodePattern = /^[\w.-]+$/;

/** Name of the init container that tests. */
export const preflightContainer = 'preflight';

/** Directory of the report files below the host root: `<namespace>/<workload>-<rank>.json`. */
export const preflightDirectory = '/var/lib/kcover/preflight';

/**
 * What is tested before it runs. `name` is that of the report files; `uid` that of the object that controls its pods
 * (of a LeaderWorkerSet, whose pods have several, the key of the group).
 */
export interface Workload {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The job, where it is of a kind that kcover can recover. */
  readonly job?: JobRef;
}

/** Result of one rank in one round. */
export interface PairTest {
  /** From 0. */
  readonly round: number;
  /** The reporter's own address in this pair, where it differs from the report's. */
  readonly self?: string;
  /** The partner's address; absent in a round without one. */
  readonly peer?: string;
  /** `skip`: not tested, for whatever reason. `ok` without a bandwidth: the test says that it passed. */
  readonly status: 'ok' | 'fail' | 'skip';
  /** Bus bandwidth of the all-reduce, GiB/s. */
  readonly gbps?: number;
  /** Reason and exit code, as the test wrote them. */
  readonly because?: string;
}

/** A report of one rank, decoded and reduced to what is used. */
export interface PreflightReport {
  /** Ranks of the workload, one report each. */
  readonly size: number;
  readonly rank: number;
  readonly node: string;
  /** Empty when the report has none. */
  readonly address: string;
  /** Failed checks of the node itself. */
  readonly failed?: readonly PreflightCheck[];
  /** Bandwidth below which a pair counts as failed, GiB/s; 0 switches that off. Absent: the value of the settings. */
  readonly threshold?: number;
  readonly tests: readonly PairTest[];
}

export const preflightChecks = ['gpu', 'storage'] as const;
export type PreflightCheck = (typeof preflightChecks)[number];

/** Which field of a report cannot be used. */
export const reportFields = [
  'parse',
  'node_name',
  'workload_name',
  'workload_size',
  'odd_workload_size',
  'layout',
  'threshold',
  'batch',
  'batch_idx',
  'duplicate_batch_idx',
  'pair',
  'self_ip',
  'performance',
] as const;
export type ReportField = (typeof reportFields)[number];

/** Why a report cannot be used. */
export interface ReportProblem {
  readonly field: ReportField;
  readonly because: string;
}

/** A pod that tests. The API server's clock decides which of two is newer, never those of their nodes. */
export interface TestingPod {
  readonly name: string;
  readonly uid: string;
  /** RFC 3339, whole seconds. */
  readonly createdAt: string;
}

/** The share of a node's accelerators that the testing pods of one workload hold. A pod that holds none could report anything about the node. */
export interface NodeShare {
  /** Accelerators that they ask for, of those that the node has. */
  readonly asked: number;
  readonly of: number;
}

/** A report with the pod that made it. */
export interface CollectedReport {
  readonly report: PreflightReport;
  readonly pod: TestingPod;
  readonly share: NodeShare;
  /** RFC 3339, ms, the node's clock: when the file was written. */
  readonly writtenAt: string;
}

export const preflightRules = ['statistical', 'strict'] as const;
export type PreflightRule = (typeof preflightRules)[number];

/**
 * Verdict on one node. `failed`: a check of the node itself failed. `undetermined`: too little evidence; it never quarantines.
 * `confidence`: probability that the verdict is right, for `undetermined` that the node is slow.
 */
export interface NodeJudgement {
  readonly node: string;
  readonly rank: number;
  readonly verdict: 'failed' | 'slow' | 'healthy' | 'undetermined';
  readonly confidence: number;
  readonly because: string;
  /** The pairs that support it, in words; at most 5. */
  readonly pairs: readonly string[];
}

/** A verdict on all nodes that were tested, in the order of ranks. */
export interface PreflightJudgement {
  readonly rule: PreflightRule;
  readonly nodes: readonly NodeJudgement[];
  readonly because: string;
  /** The smallest confidence of all verdicts except the undetermined. */
  readonly confidence: number;
}

/** What `decidePreflight` (an activity) looks at. */
export interface JudgementRequest {
  readonly workload: Workload;
  readonly run: number;
  readonly size: number;
  readonly reports: readonly CollectedReport[];
  /** `part`: some of the reports, because one of them is urgent; only `failed` nodes are reported. `expired`: all that came in time. */
  readonly evidence: 'complete' | 'part' | 'expired';
  /** Nodes that were already reported in this run. */
  readonly notified: readonly string[];
}

/** Verdict of one run, bounded: healthy nodes are only counted. */
export type PreflightDecision = Decided & {
  readonly rule: PreflightRule;
  /** At most 50 of each; for a part, only nodes that were not reported yet. */
  readonly failed: readonly NodeJudgement[];
  readonly slow: readonly NodeJudgement[];
  readonly undetermined: readonly NodeJudgement[];
  readonly counts: Readonly<Record<NodeJudgement['verdict'], number>>;
  readonly confidence: number;
  /** Ranks without a report, at most 50 of them. */
  readonly missing: readonly number[];
  /** For the workflows of nodes that are not healthy and were not reported yet; at most 100. */
  readonly faults: readonly Fault[];
  /** How many more of them there are: decide again when these are reported. */
  readonly left: number;
  /** Whether nodes and job respond to it; `because` says why not. */
  readonly acts: boolean;
};

/** How long a run may collect. */
export type CollectionDecision = Decided & {
  /** After the last report that counted, ms. */
  readonly inactivityMs: number;
  /** After the first, ms. */
  readonly deadlineMs: number;
};
