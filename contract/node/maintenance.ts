/** Planned maintenance of one node: when people work on it, what kcover does before and after. */

import type { OperatorRequest } from '../wire/messages.ts';

/** What a person plans. Times are milliseconds since the epoch. */
export interface MaintenancePlan extends OperatorRequest {
  /** From then on people work on the node. */
  readonly from: number;
  /** Then kcover takes the node back into service. */
  readonly until: number;
}

/** Longest time from now to the end of a maintenance, ms. */
const mostMs = 366 * 86_400_000;

/** Why nothing can be planned so; undefined when it can. */
export function whyNoWindow({ from, until }: Pick<MaintenancePlan, 'from' | 'until'>, now: number): string | undefined {
  if (!Number.isFinite(from) || !Number.isFinite(until)) return 'a time is missing';
  if (from < 0 || until > now + mostMs) return 'its end is more than a year from now';
  if (until <= now) return 'its end is in the past';
  if (from >= until) return 'its begin is not before its end';
  return undefined;
}

/** Input of `maintenance`. */
export interface MaintenanceInput {
  readonly node: string;
  readonly plan: MaintenancePlan;
}

/** Node, jobs, settings and pause in one look. */
export interface MaintenanceView {
  readonly uid: string;
  /** How long before `from` the node is quarantined, ms. */
  readonly leadMs: number;
  /** When to look again after this one, ms. */
  readonly lookAgainMs: number;
  /** When to ask again while something holds it, ms. */
  readonly askAgainMs: number;
  /** Why nothing may be written now: a pause, or the mode. */
  readonly hold?: string;
  /** Opted-in jobs with pods on the node, such as `pytorchjob/llm in train`. */
  readonly jobs: readonly string[];
}

/** The quarantine that the node has after the order. `ours`: it was ordered for this maintenance. */
export interface OrderedQuarantine {
  readonly incident: string;
  readonly ours: boolean;
  readonly because: string;
}

/** `released`: the quarantine of this maintenance is over. `kept`: the node stays out for another reason. */
export interface ReturnResult {
  readonly kind: 'released' | 'kept';
  readonly because: string;
}

/** Result of `maintenance`, shown in the Temporal UI. */
export interface MaintenanceOutcome {
  readonly node: string;
  /**
   * `returned`: the node is in service again. `kept`: it stays quarantined for another reason. `cancelled`: a person ended it before its time.
   * `failed`: the node was never ready for it, or is gone.
   */
  readonly outcome: 'returned' | 'kept' | 'cancelled' | 'failed';
  readonly because: string;
}

export const maintenancePhases = ['planned', 'quarantining', 'moving', 'in-maintenance', 'returning', 'ended'] as const;
export type MaintenancePhase = (typeof maintenancePhases)[number];

/** Answer of the `status` query of a maintenance. Times are RFC 3339. */
export interface MaintenanceStatus {
  readonly node: string;
  readonly phase: MaintenancePhase;
  readonly because: string;
  readonly from: string;
  readonly until: string;
  readonly by: string;
  readonly reason: string;
  readonly waitingFor: string;
  /** Id of the quarantine that was ordered for it. */
  readonly incident?: string;
  /** Opted-in jobs that had pods on the node when it was last read. */
  readonly jobs: readonly string[];
  readonly outcome?: MaintenanceOutcome['outcome'];
}
