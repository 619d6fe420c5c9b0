/** What agents send of preflight, `POST /v1/preflight`: the report files of their node. And what becomes of a file that counts for nothing. */

import type { PreflightReport, ReportField, ReportProblem } from './preflight.ts';

export const preflightPath = '/v1/preflight';

/** One file as its agent read it. The file stays on the node until its answer is not `wait`: no other spool is needed. */
export type PreflightFile = {
  readonly namespace: string;
  readonly workload: string;
  /** Of the file's name; the report must agree. */
  readonly rank: number;
  readonly writtenAt: string;
} & ({ readonly report: PreflightReport } | { readonly problem: ReportProblem | { readonly field: 'too-large'; readonly because: string } });

export interface PreflightFiles {
  readonly schema: 1;
  readonly node: string;
  /** RFC 3339, ms, the node's clock: by it the age of a file is told. */
  readonly sentAt: string;
  /** At most 50. */
  readonly files: readonly PreflightFile[];
}

/** Why a file counts for nothing. `namespace`: settings listen to others only. `other-node`, `other-rank`: it claims to be what its place says it is not. `stale`: not written while its pod tested. */
export const preflightRefusals = ['too-large', 'namespace', 'other-node', 'other-rank', 'no-pod', 'stale'] as const;
export type PreflightRefusal = (typeof preflightRefusals)[number];

/**
 * Answer for one file. `taken`: Temporal has it. `wait`: its pod is still testing, is not yet seen, or Temporal did not take it: send it again.
 * `refused`: it is told of, counts for nothing, and need not be sent again until it changes.
 */
export interface PreflightFileAnswer {
  readonly answer: 'accepted' | 'wait' | 'refused';
  readonly because?: string;
}

/** Answer 200, in the order of the files. */
export interface PreflightAnswer {
  readonly files: readonly PreflightFileAnswer[];
}

/** A report that was refused, for people to see. */
export interface RefusedReport {
  readonly rank: number;
  readonly node: string;
  /** A field of the report, or a `PreflightRefusal`. */
  readonly what: ReportField | PreflightRefusal;
  readonly because: string;
  readonly at: string;
}
