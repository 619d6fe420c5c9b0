/** What a change of a Node object means for the workflow that looks after it. */

import type { Fault } from '../contract/faults.ts';
import type { NodeObserved } from '../contract/messages.ts';
import type { NodeOutcome, NodeView } from '../contract/nodes.ts';

/** What counts of a Node object. */
export interface NodeSeen {
  readonly uid: string;
  readonly systemUuid: string;
  /** It carries a taint that is ours. */
  readonly quarantinedByUs: boolean;
}

/** What is remembered of a node. */
export interface TrackedNode {
  /** Absent after the object went. */
  readonly seen?: NodeSeen;
  /** It carried our taint at some time, or its workflow is known to run: somebody has to be told. */
  readonly followed: boolean;
}

export const seenOf = (view: NodeView): NodeSeen => ({ uid: view.uid, systemUuid: view.systemUuid, quarantinedByUs: view.taint?.ours === true });

/** Pure fold: what to tell, and what to remember. `now` is absent when the object is gone. */
export function foldNode(before: TrackedNode | undefined, now: NodeSeen | undefined): { readonly notify?: NodeObserved; readonly tracked: TrackedNode } {
  const followed = before?.followed === true;
  const tracked: TrackedNode = { ...(now && { seen: now }), followed: followed || now?.quarantinedByUs === true };
  return followed && isChange(before, now) ? { notify: observedOf(now), tracked } : { tracked };
}

/** A taint of ours that appears is no news to whoever put it there, and a second quarantine is as good as the first; that it went is. */
const isChange = (before: TrackedNode, now: NodeSeen | undefined): boolean =>
  before.seen?.uid !== now?.uid || (before.seen?.quarantinedByUs === true && now?.quarantinedByUs === false);

const observedOf = (now: NodeSeen | undefined): NodeObserved => (now ? { uid: now.uid, quarantinedByUs: now.quarantinedByUs } : { quarantinedByUs: false });

/** What a running node workflow must hear of when nobody watched for a while: a node that is gone or no longer carries our taint. */
export const missedOf = (now: NodeSeen | undefined): NodeObserved | undefined => (now?.quarantinedByUs ? undefined : observedOf(now));

/** Faults for which a machine is quarantined again that went while it was quarantined; none when it is another machine. */
export function faultsOfReturned(now: NodeSeen, last: NodeOutcome | undefined): readonly Fault[] {
  if (last?.outcome !== 'gone' || now.quarantinedByUs) return [];
  // An empty id is no identity: two machines without one are not the same.
  if (now.systemUuid === '' || now.systemUuid !== last.systemUuid) return [];
  return last.quarantinedFor ?? [];
}
