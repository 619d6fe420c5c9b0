/** The planned maintenance of one node. Pure; times are milliseconds since the epoch. */

import type { Announcement } from '../../contract/wire/activities.ts';
import { type Fault, faultLimits, plannedMaintenance, type QuarantineStatus } from '../../contract/faults/faults.ts';
import { eventReasons } from '../../contract/ids.ts';
import type {
  MaintenanceInput,
  MaintenanceOutcome,
  MaintenancePlan,
  OrderedQuarantine,
} from '../../contract/node/maintenance.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import { iso } from '../../contract/settings/duration.ts';
import { oneLine } from '../../contract/text.ts';

/**
 * `planned` waits until its lead before `from`, and while something holds it. `quarantining` orders the quarantine, `moving` notifies the jobs and
 * waits until they have left, `in-maintenance` leaves the node to people, `returning` releases it.
 */
export type MaintenanceState = MaintenanceData &
  (
    | { readonly phase: 'planned'; readonly lookAt: number }
    | { readonly phase: 'quarantining' }
    | { readonly phase: 'moving'; readonly notified: boolean; readonly lookAt: number }
    | { readonly phase: 'in-maintenance' }
    | { readonly phase: 'returning' }
    | { readonly phase: 'ended'; readonly outcome: MaintenanceOutcome }
  );

export interface MaintenanceData {
  readonly node: string;
  readonly plan: MaintenancePlan;
  /** When it was planned: tells two maintenances of a node apart. */
  readonly since: number;
  /** UID of the Node object, once it was read. */
  readonly uid?: string | undefined;
  /** A quarantine was ordered; it is confirmed where `quarantine` is set. */
  readonly ordered?: true;
  readonly quarantine?: OrderedQuarantine | undefined;
  /** Opted-in jobs that had pods on the node when it was last read. */
  readonly jobs: readonly string[];
  /** A person has ended it. */
  readonly cancelled?: OperatorRequest | undefined;
  /** What people were last told that holds it. */
  readonly held?: string | undefined;
  readonly because: string;
  /** Events to be written, in this order. */
  readonly outbox: readonly Announcement[];
}

export const firstState = ({ node, plan }: MaintenanceInput, now: number): MaintenanceState => ({
  phase: 'planned',
  node,
  plan,
  since: now,
  jobs: [],
  because: `planned by ${plan.by}: ${plan.reason}`,
  outbox: [],
  lookAt: now,
});

export const windowOf = ({ from, until }: Pick<MaintenancePlan, 'from' | 'until'>): string =>
  `from ${iso(from)} until ${iso(until)}`;

/** What the quarantine is ordered with: by this reason it is found again after a restart. */
export const orderOf = ({ plan, since }: MaintenanceData): OperatorRequest => ({
  by: plan.by,
  reason: `maintenance planned at ${iso(since)}: ${oneLine(plan.reason, 200)}`,
});

/** The fault with which jobs on the node learn that they must leave, and later that they need not any more. */
export function faultOf(data: MaintenanceData, state: QuarantineStatus['state']): Fault {
  const { node, plan, since, because } = data;
  return {
    id: `maintenance/${node}/${iso(since)}`.slice(0, faultLimits.id),
    source: 'external',
    code: plannedMaintenance,
    message: oneLine(`maintenance ${windowOf(plan)}: ${plan.reason}`, faultLimits.message),
    seenAt: iso(since),
    node,
    deadline: iso(plan.from),
    quarantine: { state, because: oneLine(because, 300) },
  };
}

/** With one more Event about the node. `again`: what tells it apart from an earlier one of the same reason. */
export function withEvent<Data extends MaintenanceData>(
  data: Data,
  type: Announcement['type'],
  reason: Extract<keyof typeof eventReasons, `maintenance${string}`>,
  message: string,
  again = '',
): Data {
  const { node, uid, since } = data;
  const about = { kind: 'node' as const, name: node, ...(uid !== undefined && { uid }) };
  const key = `maintenance/${node}/${iso(since)}${again}`;
  return { ...data, outbox: [...data.outbox, { about, type, reason: eventReasons[reason], message, key }] };
}
