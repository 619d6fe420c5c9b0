/** The preflight report files of a node, which its agent sends to `POST /v1/preflight`, and the answers for each file. */

import type { PreflightReport, ReportField, ReportProblem } from './preflight.ts';

export const preflightPath = '/v1/preflight';

/** One file as its agent read it. The file stays on the node while its answer is `wait`, so no other spool is needed. */
export type PreflightFile = {
  readonly namespace: string;
  readonly workload: string;
  /** From the file name; the report must have the same. */
  readonly rank: number;
  readonly writtenAt: string;
} & (
  | { readonly report: PreflightReport }
  | { readonly problem: ReportProblem | { readonly field: 'too-large'; readonly because: string } }
);

export interface PreflightFiles {
  readonly schema: 1;
  readonly node: string;
  /** RFC 3339, ms, the node's clock: gives the age of a file. */
  readonly sentAt: string;
  /** At most 50. */
  readonly files: readonly PreflightFile[];
}

/** Why a file is refused. `namespace`: the settings exclude its namespace. `other-node`, `other-rank`: its content contradicts its node or file name. `stale`: not written while its pod tested. */
export const preflightRefusals = ['too-large', 'namespace', 'other-node', 'other-rank', 'no-pod', 'stale'] as const;
export type PreflightRefusal = (typeof preflightRefusals)[number];

/**
 * Answer for one file. `accepted`: Temporal has it. `wait`: its pod is still testing or not yet observed, or Temporal did not accept it: send
 * it again. `refused`: it is recorded as refused, and need not be sent again until it changes.
 */
export interface PreflightFileAnswer {
  readonly answer: 'accepted' | 'wait' | 'refused';
  readonly because?: string;
}

/** Answer 200, in the order of the files. */
export interface PreflightAnswer {
  readonly files: readonly PreflightFileAnswer[];
}

/** A report that was refused, shown in the status. */
export interface RefusedReport {
  readonly rank: number;
  readonly node: string;
  /** A field of the report, or a `PreflightRefusal`. */
  readonly what: ReportField | PreflightRefusal;
  readonly because: string;
  readonly at: string;
}
