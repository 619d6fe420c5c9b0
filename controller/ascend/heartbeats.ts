/** Nodes whose NodeD sends no heartbeats any more, by our own clock. */

import type { Logger } from 'pino';
import {
  foldHeartbeat,
  type Heartbeat,
  type HeartbeatHistory,
  judgeHeartbeat,
  longestGap,
  resumed,
} from '../../faults/ascend/heartbeat.ts';
import { logDefects } from '../log-defects.ts';

export interface HeartbeatsOptions {
  /** The node has lost its heartbeats, or has them again. */
  readonly onChange: (node: string) => void;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface Heartbeats {
  /** `from`: where it was seen. Undefined: there is none any more. */
  see(node: string, from: string, heartbeat: Heartbeat | undefined): void;
  forget(node: string): void;
  /** Whether what is seen is up to date: nothing is judged otherwise, and that time does not count. */
  setReachable(isReachable: boolean): void;
  /** Why nothing is known of the node; undefined while its NodeD is alive. */
  whyLost(node: string): string | undefined;
}

export function followHeartbeats({ onChange, log, signal }: HeartbeatsOptions): Heartbeats {
  const histories = new Map<string, HeartbeatHistory>();
  let isUpToDate = false;
  let timer: NodeJS.Timeout | undefined;
  let dueAt = Infinity;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  const now = () => performance.now();

  function put(node: string, before: HeartbeatHistory | undefined, after: HeartbeatHistory | undefined): void {
    if (after === before) return;
    if (after) histories.set(node, after);
    else histories.delete(node);
    if (before?.isLost !== after?.isLost) onChange(node);
    if (after && !after.isLost) lookAt(after.since + longestGap(after));
  }

  /** One timer for all nodes. It may find that heartbeats have come meanwhile. */
  function lookAt(time: number): void {
    if (!isUpToDate || signal.aborted || time >= dueAt) return;
    clearTimeout(timer);
    dueAt = time;
    timer = setTimeout(
      () => logDefects(log, 'heartbeats could not be judged', {}, judge),
      Math.max(1, time - now() + 1),
    );
  }

  function judge(): void {
    dueAt = Infinity;
    if (!isUpToDate || signal.aborted) return;
    for (const [node, history] of histories) put(node, history, judgeHeartbeat(history, now()));
    for (const history of histories.values()) if (!history.isLost) lookAt(history.since + longestGap(history));
  }

  return {
    see(node, from, heartbeat) {
      const before = histories.get(node);
      put(node, before, foldHeartbeat(before, from, heartbeat, now()));
    },
    forget: (node) => put(node, histories.get(node), undefined),
    setReachable(isReachable) {
      if (isReachable === isUpToDate) return;
      isUpToDate = isReachable;
      clearTimeout(timer);
      dueAt = Infinity;
      if (isReachable) for (const [node, history] of histories) put(node, history, resumed(history, now()));
    },
    whyLost(node) {
      const history = histories.get(node);
      if (!history?.isLost) return undefined;
      return `NodeD has sent no heartbeat for more than ${longestGap(history) / 1000} s, three times its interval`;
    },
  };
}
