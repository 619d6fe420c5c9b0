/**
 * The history of one port, and what each observation adds to it. A port counts only after it was ACTIVE: one that is down from the start may have no
 * cable. Durations are taken from a monotonic clock, so steps of the wall clock change none of them.
 */

import type { PortState } from './port.ts';

/** A time on both clocks. */
export interface Instant {
  /** Since the boot of the node. */
  readonly monotonicMs: number;
  /** RFC 3339, for people. */
  readonly time: string;
}

/** Since when a port is not ACTIVE. */
export interface PortFall {
  readonly since: string;
  readonly sinceMs: number;
  /** Last observation of it. */
  readonly seenMs: number;
  /** It is a fault already; the same fall is never a second one. */
  readonly reported: boolean;
}

/** A port that was ACTIVE in this boot. */
export interface PortHistory {
  readonly fall?: PortFall;
  /** When it was ACTIVE again after falls that were too short for a fault: the newest within the window. */
  readonly returnsMs: readonly number[];
  readonly flappingMs?: number;
}

export interface PortLimits {
  /** A fall of this length is a fault. */
  readonly downMs: number;
  /** After so long without an observation nothing is known about the time between. */
  readonly unobservedMs: number;
}

export interface PortFinding {
  readonly kind: 'down' | 'gone' | 'flapping';
  /** Begin of the fall, or of the last one. */
  readonly since: string;
}

export interface ObservedPort {
  /** Undefined while the port was never ACTIVE. */
  readonly history: PortHistory | undefined;
  readonly finding?: PortFinding;
}

/** So many short falls within the window are flapping, and no more often than once in that time. */
export const flapping = { falls: 3, withinMs: 3_600_000 } as const;

export function observePort(
  before: PortHistory | undefined,
  state: PortState,
  now: Instant,
  limits: PortLimits,
): ObservedPort {
  if (state.kind === 'active')
    return before?.fall ? returned(before, before.fall, now, limits) : { history: before ?? { returnsMs: [] } };
  if (before === undefined) return { history: undefined };
  const fall = continued(before.fall, now, limits);
  if (fall.reported || now.monotonicMs - fall.sinceMs < limits.downMs) return { history: { ...before, fall } };
  const finding = { kind: state.kind === 'gone' ? 'gone' : 'down', since: fall.since } as const;
  return { history: { ...before, fall: { ...fall, reported: true } }, finding };
}

/** It may have been ACTIVE while it was not observed; then the fall begins anew, unless it was reported. */
function continued(fall: PortFall | undefined, { monotonicMs, time }: Instant, limits: PortLimits): PortFall {
  if (fall?.reported) return fall;
  if (fall && wasObserved(fall, monotonicMs, limits)) return { ...fall, seenMs: monotonicMs };
  return { since: time, sinceMs: monotonicMs, seenMs: monotonicMs, reported: false };
}

const wasObserved = ({ seenMs }: PortFall, nowMs: number, { unobservedMs }: PortLimits): boolean =>
  nowMs >= seenMs && nowMs - seenMs < unobservedMs;

/** ACTIVE again: a fall that was observed and is no fault of its own counts as a flap. */
function returned(before: PortHistory, fall: PortFall, { monotonicMs }: Instant, limits: PortLimits): ObservedPort {
  const isRecent = (ms: number): boolean => ms <= monotonicMs && monotonicMs - ms < flapping.withinMs;
  const flap = !fall.reported && wasObserved(fall, monotonicMs, limits);
  const returnsMs = [...before.returnsMs.filter(isRecent), ...(flap ? [monotonicMs] : [])].slice(-flapping.falls);
  const last = before.flappingMs !== undefined && isRecent(before.flappingMs) ? { flappingMs: before.flappingMs } : {};
  if (!flap || returnsMs.length < flapping.falls || last.flappingMs !== undefined)
    return { history: { returnsMs, ...last } };
  return { history: { returnsMs, flappingMs: monotonicMs }, finding: { kind: 'flapping', since: fall.since } };
}
