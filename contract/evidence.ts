/** What is kept of an attempt before it is stopped: logs, reasons and conditions of every rank, bounded and without secrets as far as that can be told. */

import type { AttemptPod, JobRef } from './jobs.ts';

/** Bounds of one capture. */
export const evidenceLimits = {
  /** Last lines of the log of one container, and bytes of it. */
  logLines: 200,
  logBytes: 64 * 1024,
  /** Events of one object. */
  events: 20,
  /** Bytes of one attempt altogether: ranks that come later keep less. */
  bytes: 64 * 1024 * 1024,
} as const;

/** Request to keep what can be had of an attempt. Partial is normal: whatever is not there at the deadline is left out. */
export interface EvidenceRequest {
  readonly incident: string;
  readonly attempt: number;
  readonly job: JobRef;
  /** Each UID once, failing ranks first: those that run, those that somebody asked to go, and those that a fault names, which may have ended or be gone. */
  readonly pods: readonly AttemptPod[];
  /** Of a large attempt only these are named: the others are looked up, and come after them. */
  readonly others?: true;
  /** Nodes that the faults blame. */
  readonly nodes: readonly string[];
  /** Kernel lines around the faults, the oldest first; a node may have several entries. */
  readonly kernel?: readonly { readonly node: string; readonly lines: readonly string[] }[];
  readonly deadlineMs: number;
}

/** What stands in history: never the evidence itself. */
export interface Evidence {
  /** Where it lies in the store. */
  readonly address: string;
  readonly attempt: number;
  /** Pods of which anything was kept, of all that were asked for. */
  readonly ranks: number;
  readonly of: number;
  readonly files: number;
  readonly bytes: number;
  /** SHA-256 over the names and contents of all files, hex. */
  readonly digest: string;
  /** When it was kept, ms by the clock of the worker. */
  readonly at?: number;
  /** Why it is not whole, when it is not. */
  readonly because?: string;
}

/** One file of an attempt's evidence, as its `index.json` lists it. */
export interface EvidenceFile {
  readonly file: string;
  readonly pod?: string;
  readonly container?: string;
  readonly what: 'log' | 'previous-log' | 'pod' | 'node' | 'kernel' | 'events' | 'job';
  readonly bytes: number;
  /** Set when it was cut. */
  readonly cut?: true;
  /** Lines in which something was blacked out. */
  readonly redacted?: number;
}
