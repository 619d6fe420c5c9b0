/** When a node that is not ready is a fault of that node, and when it is rather our own sight that is bad. */

import { formatDuration } from '../contract/duration.ts';
import { type Fault, nodeNotReady } from '../contract/faults.ts';
import type { ControllerSettings } from '../contract/settings.schema.ts';

/** A node with accelerators that its kubelet does not call ready. */
export interface Outage {
  readonly node: string;
  readonly uid: string;
  /** When the condition changed, RFC 3339, in the words of the cluster: it tells one outage from the next. */
  readonly transition: string;
  readonly because: string;
  /** Since when we have seen it, ms of our own clock; later by the time in which we could not see. */
  readonly since: number;
}

/** What is to be told now, and when to look again, ms of the same clock. */
export interface OutageVerdict {
  readonly faults: readonly Fault[];
  /** So many are out at once that it says more of us than of them; that time does not count. */
  readonly unobservable?: string;
  readonly lookAt?: number;
}

/** So many may be out together wherever they are, because a job often spans few nodes. */
const always = 2;

/** `accelerated` is the number of nodes with accelerators, those that are out included. */
export function judgeOutages(outages: readonly Outage[], accelerated: number, now: number, settings: ControllerSettings['nodes']): OutageVerdict {
  const { notReady, unobservableAbove } = settings;
  if (outages.length > always && outages.length * 100 > accelerated * unobservableAbove) {
    return { faults: [], unobservable: `more than ${unobservableAbove}% of the nodes with accelerators are not ready at once` };
  }
  const due = outages.filter(({ since }) => since + notReady <= now);
  const later = outages.filter(({ since }) => since + notReady > now).map(({ since }) => since + notReady);
  return { faults: due.map((outage) => faultOf(outage, notReady)), ...(later.length > 0 && { lookAt: Math.min(...later) }) };
}

const faultOf = ({ node, uid, transition, because }: Outage, notReadyMs: number): Fault => ({
  id: `${nodeNotReady}/${uid}/${transition}`,
  source: 'node',
  code: nodeNotReady,
  message: `not ready since ${transition}, seen for ${formatDuration(notReadyMs)}: ${because}`,
  seenAt: transition,
  node,
});
