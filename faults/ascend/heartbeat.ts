/**
 * Heartbeats of NodeD. Their times come from the clock of the node and are never compared with ours: only a change of the value counts.
 * After three intervals without one NodeD no longer observes its node. Source: Ascend/mind-cluster, NodeD and the Volcano plugin.
 */

import type { Fields } from './fields.ts';

export interface Heartbeat {
  /** Another text with each heartbeat. */
  readonly value: string;
  readonly intervalMs: number;
}

/** A node takes part by this label, as for MindCluster. */
export const heartbeatLabel = { key: 'nodeDEnable', value: 'on' } as const;

/** Releases up to 5.0.1 write them on the Node object. */
const heartbeatAnnotations = { value: 'noded/heartbeat', interval: 'noded/heartbeat-interval' } as const;

/** In the content of a NodeInfo; current releases write none. */
export const heartbeatIn = ({ HeartbeatTime, HeartbeatInterval }: Fields): Heartbeat | undefined =>
  typeof HeartbeatTime === 'number' && HeartbeatTime > 0
    ? { value: `${HeartbeatTime}`, intervalMs: intervalOf(HeartbeatInterval) }
    : undefined;

export function heartbeatOf(annotations: Readonly<Record<string, string>> = {}): Heartbeat | undefined {
  const value = annotations[heartbeatAnnotations.value]?.slice(0, 40) ?? '';
  if (value === '') return undefined;
  return { value, intervalMs: intervalOf(Number((annotations[heartbeatAnnotations.interval] ?? '').slice(0, 10))) };
}

/** Seconds to ms, with the bounds and the default of the Volcano plugin. */
const intervalOf = (seconds: unknown): number =>
  typeof seconds === 'number' && seconds >= 1 && seconds <= 300 ? seconds * 1000 : 5000;

/** The heartbeats of one node. Times are ms of one monotonic clock. */
export interface HeartbeatHistory {
  /** The last value by where it was seen. */
  readonly values: Readonly<Record<string, string>>;
  readonly intervalMs: number;
  /** The last change, or the begin of the observation. */
  readonly since: number;
  readonly isLost: boolean;
}

/** `now`: where `from` was seen. Undefined where the node has no heartbeats: there is nothing to miss. */
export function foldHeartbeat(
  before: HeartbeatHistory | undefined,
  from: string,
  heartbeat: Heartbeat | undefined,
  now: number,
): HeartbeatHistory | undefined {
  const { [from]: last, ...others } = before?.values ?? {};
  if (heartbeat === undefined)
    return before && Object.keys(others).length > 0 ? { ...before, values: others } : undefined;
  if (before && last === heartbeat.value) return before;
  const values = { ...others, [from]: heartbeat.value };
  return { values, intervalMs: heartbeat.intervalMs, since: now, isLost: false };
}

/** Time during which nothing could be seen does not count: the whole time must pass again. */
export const resumed = (history: HeartbeatHistory, now: number): HeartbeatHistory =>
  history.isLost ? history : { ...history, since: now };

/** How long a heartbeat may take, ms. */
export const longestGap = ({ intervalMs }: Pick<HeartbeatHistory, 'intervalMs'>): number => 3 * intervalMs;

export const judgeHeartbeat = (history: HeartbeatHistory, now: number): HeartbeatHistory =>
  history.isLost || now - history.since <= longestGap(history) ? history : { ...history, isLost: true };
