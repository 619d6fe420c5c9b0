/** When a node that is not ready counts as a fault, and when kcover rather assumes that its own view of the cluster is stale. */

import { formatDuration } from '../../contract/settings/duration.ts';
import { type Fault, nodeNotReady } from '../../contract/faults/faults.ts';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';

/** A node with accelerators whose Ready condition is not True. */
export interface Outage {
  readonly node: string;
  readonly uid: string;
  /** When the condition changed, RFC 3339, as in the Node object: tells one outage from the next. */
  readonly transition: string;
  readonly because: string;
  /** Since when we have observed it, ms of our own clock; moved on by the time in which we could not observe the cluster. */
  readonly since: number;
}

/** Faults to report now, and when to check again, ms of the same clock. */
export interface OutageVerdict {
  readonly faults: readonly Fault[];
  /** Set when so many are not ready at once that our view is probably stale; that time does not count. */
  readonly unobservable?: string;
  readonly lookAt?: number;
}

/** Up to this many outages count in any cluster, because small clusters have few nodes. */
const always = 2;

/** `accelerated`: number of nodes with accelerators, including those that are not ready. */
export function judgeOutages(
  outages: readonly Outage[],
  accelerated: number,
  now: number,
  settings: ControllerSettings['nodes'],
): OutageVerdict {
  const { notReady, unobservableAbove } = settings;
  if (outages.length > always && outages.length * 100 > accelerated * unobservableAbove) {
    return {
      faults: [],
      unobservable: `more than ${unobservableAbove}% of the nodes with accelerators are not ready at once`,
    };
  }
  const due = outages.filter(({ since }) => since + notReady <= now);
  const later = outages.filter(({ since }) => since + notReady > now).map(({ since }) => since + notReady);
  return {
    faults: due.map((outage) => faultOf(outage, notReady)),
    ...(later.length > 0 && { lookAt: Math.min(...later) }),
  };
}

const faultOf = ({ node, uid, transition, because }: Outage, notReadyMs: number): Fault => ({
  id: `${nodeNotReady}/${uid}/${transition}`,
  source: 'node',
  code: nodeNotReady,
  message: `not ready since ${transition}, seen for ${formatDuration(notReadyMs)}: ${because}`,
  seenAt: transition,
  node,
});
