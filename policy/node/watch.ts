/** How a change of a Node object affects the node's workflow. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { NodeObserved } from '../../contract/wire/messages.ts';
import type { NodeOutcome, NodeView } from '../../contract/node/nodes.ts';

/** The part of a Node object that matters. */
export interface WatchedNode {
  readonly uid: string;
  readonly systemUuid: string;
  /** It has a taint that kcover set. */
  readonly quarantinedByUs: boolean;
}

/** State kept for a node. */
export interface TrackedNode {
  /** Absent after the object was deleted. */
  readonly seen?: WatchedNode;
  /** It had our taint at some time, or its workflow is known to run: changes are signalled to the workflow. */
  readonly followed: boolean;
}

export const watchedNodeOf = (view: NodeView): WatchedNode => ({
  uid: view.uid,
  systemUuid: view.systemUuid,
  quarantinedByUs: view.taint?.ours === true,
});

/** When our quarantine of the node began, by the id of its incident, ms since the epoch; undefined without our taint, or where another client wrote the id. */
export function quarantinedSince({ name, taint }: NodeView): number | undefined {
  const prefix = `node/${name}/`;
  if (taint?.incident?.startsWith(prefix) !== true) return undefined;
  const since = Date.parse(taint.incident.slice(prefix.length));
  return Number.isNaN(since) ? undefined : since;
}

/** Pure fold: what to signal, and the next state. `now` is absent when the object is gone. */
export function foldNode(
  before: TrackedNode | undefined,
  now: WatchedNode | undefined,
): { readonly notify?: NodeObserved; readonly tracked: TrackedNode } {
  const followed = before?.followed === true;
  const tracked: TrackedNode = { ...(now && { seen: now }), followed: followed || now?.quarantinedByUs === true };
  return followed && isChange(before, now) ? { notify: observedOf(now), tracked } : { tracked };
}

/** A new UID or a removed taint is a change. A taint that appears is not: the workflow set it itself. */
const isChange = (before: TrackedNode, now: WatchedNode | undefined): boolean =>
  before.seen?.uid !== now?.uid || (before.seen?.quarantinedByUs === true && now?.quarantinedByUs === false);

const observedOf = (now: WatchedNode | undefined): NodeObserved =>
  now ? { uid: now.uid, quarantinedByUs: now.quarantinedByUs } : { quarantinedByUs: false };

/** The change that a running node workflow must be notified of after a gap in the watch: the node is gone or no longer has our taint. */
export const missedChangeOf = (now: WatchedNode | undefined): NodeObserved | undefined =>
  now?.quarantinedByUs ? undefined : observedOf(now);

/** Faults for which a returned machine is quarantined again, if its Node object was deleted during a quarantine; none for another machine. */
export function faultsOfReturned(now: WatchedNode, last: NodeOutcome | undefined): readonly Fault[] {
  if (last?.outcome !== 'gone' || now.quarantinedByUs) return [];
  // An empty id is no identity: two machines without one are not the same.
  if (now.systemUuid === '' || now.systemUuid !== last.systemUuid) return [];
  return last.quarantinedFor ?? [];
}
