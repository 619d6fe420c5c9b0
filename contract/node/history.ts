/** What is remembered of the faults of a node, for rules over time. Plain JSON, and bounded by those who add to it. */

import type { Action } from '../faults/action.ts';

/** Faults of one code at one place that followed each other closely. Times are milliseconds since the epoch. */
export interface Burst {
  readonly code: string;
  readonly device?: string;
  /** A part of the device: a processor, a link. */
  readonly place?: string;
  readonly action?: Action;
  /** Another fault explains it, so no rule counts it. */
  readonly explained?: true;
  /** Others than the node may have reported it, so no rule counts it. */
  readonly untrusted?: true;
  readonly first: number;
  readonly last: number;
}

/** Oldest first. */
export type NodeHistory = readonly Burst[];

/** What a fault, or a rule, leads to; several may apply at once. */
export const effects = ['warn', 'restart-job', 'ask', 'quarantine'] as const;
export type Effect = (typeof effects)[number];
