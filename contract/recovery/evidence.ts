/** What is captured of an attempt before it is stopped: logs, reasons and conditions of every rank, bounded, with recognised secrets redacted. */

import type { AttemptPod, JobRef } from '../job/jobs.ts';

/** Bounds of one capture. */
export const evidenceLimits = {
  /** Last lines of the log of one container, and bytes of it. */
  logLines: 200,
  logBytes: 64 * 1024,
  /** Events of one object. */
  events: 20,
  /** Bytes of one attempt in total: ranks that come later keep less. */
  bytes: 64 * 1024 * 1024,
} as const;

/** Request to capture evidence of an attempt. It may be partial: what is not available by the deadline is left out. */
export interface EvidenceRequest {
  readonly incident: string;
  readonly attempt: number;
  readonly job: JobRef;
  /** Each UID once, failing ranks first: running pods, terminating pods, and pods that a fault names, which may have ended or be gone. */
  readonly pods: readonly AttemptPod[];
  /** For a large attempt, `pods` is only a part: the others are looked up, and come after them. */
  readonly others?: true;
  /** Nodes that the faults blame. */
  readonly nodes: readonly string[];
  /** Kernel lines around the faults, the oldest first; a node may have several entries. */
  readonly kernel?: readonly { readonly node: string; readonly lines: readonly string[] }[];
  readonly deadlineMs: number;
}

/** A rank that may have broken a collective, by what the logs of all ranks say. That alone convicts no rank and no node. */
export interface Suspect {
  readonly pod: string;
  readonly node?: string;
  /** Rank in the job, where a line names it. */
  readonly rank?: number;
  /** One sentence. */
  readonly because: string;
}

/** The reference that history holds: never the evidence itself. */
export interface Evidence {
  /** Its location in the store. */
  readonly address: string;
  readonly attempt: number;
  /** Pods of which anything was captured, and all that were requested. */
  readonly ranks: number;
  readonly of: number;
  readonly files: number;
  readonly bytes: number;
  /** SHA-256 over the names and contents of all files, hex. */
  readonly digest: string;
  /** When it was captured, ms, the worker's clock. */
  readonly at?: number;
  /** Why it is incomplete, when it is. */
  readonly because?: string;
  /** Only where the logs tell some ranks from the others. */
  readonly suspects?: readonly Suspect[];
}

/** One file of an attempt's evidence, as its `index.json` lists it. */
export interface EvidenceFile {
  readonly file: string;
  readonly pod?: string;
  readonly container?: string;
  readonly what: 'log' | 'previous-log' | 'pod' | 'node' | 'kernel' | 'events' | 'job';
  readonly bytes: number;
  /** Set when it was truncated. */
  readonly cut?: true;
  /** Lines in which something was redacted. */
  readonly redacted?: number;
}
