/** How a release ends, and with it the run: only what was confirmed is reported. Pure. */

import type { NodeOutcome } from '../../contract/node/nodes.ts';
import type { InPhase } from '../state-machine.ts';
import type { NodeEventOf } from './events.ts';
import { isoTime, returned, toJobs, toPeople, toRecords } from './messages.ts';
import {
  atRest,
  ended,
  forgotten,
  hasArrivals,
  incidentOnNode,
  isOutage,
  type NodeData,
  type NodeState,
  withMessages,
} from './state.ts';

type Releasing = InPhase<NodeState, 'releasing'>;
type Closing = InPhase<NodeState, 'closing'>;

/** A taint that stays although it is not ours keeps pods off the node, so people are notified. */
export function released(
  { request, ...data }: Releasing,
  { removed, remainingTaint, at }: NodeEventOf<'released'>,
): NodeState {
  const { node, view, quarantine, faults } = data;
  const requested = `${request.by}: ${request.reason}`;
  const outcome = remainingTaint === undefined ? 'released' : 'not-ours';
  const because = remainingTaint === undefined ? requested : `${requested}; ${remainingTaint}`;
  const after = withMessages(
    { ...data, because },
    ...(removed
      ? toPeople(data, 'Normal', 'released', { message: `released by ${requested}`, key: incidentOnNode(data) })
      : []),
    ...(view ? [returned(view.uid)] : []),
    ...(outcome === 'not-ours'
      ? toPeople(data, 'Warning', 'releaseFailed', {
          message: because,
          key: `${quarantine?.incident ?? node}/${outcome}`,
        })
      : []),
    ...toJobs((quarantine ?? data.held)?.asks ? [] : faults.filter((fault) => !isOutage(fault)), 'released', because),
    ...(view && quarantine ? [toRecords(data, quarantine, view, { at: isoTime(at), outcome, because })] : []),
  );
  return { ...after, phase: 'closing', outcome: { node, outcome, because } };
}

/** The taint may still be there, so the quarantine stands and the release is tried again. */
export function releaseFailed(
  { request, ...data }: Releasing,
  { because: why, at }: NodeEventOf<'releaseFailed'>,
): NodeState {
  const releaseAt = at + data.askAgainMs;
  const because = `still quarantined: it could not be released for ${request.by} (${request.reason}): ${why}`;
  const message = `${because}; the next try is at ${isoTime(releaseAt)}`;
  const events = toPeople(data, 'Warning', 'releaseFailed', { message, key: `${incidentOnNode(data)}/${why}` });
  return atRest(withMessages({ ...data, release: request, releaseAt, because }, ...events));
}

const isRelease = ({ outcome: { outcome } }: Closing): boolean => outcome === 'released' || outcome === 'not-ours';

/** The quarantine is known until its end was reported. */
export function reported(state: Closing): NodeState {
  const after = { ...state, outbox: state.outbox.slice(1) };
  return after.outbox.length === 0 && isRelease(state) ? forgotten(after) : after;
}

/** Whether work that arrived meanwhile is done in the same run, before every Event was written. */
export const goesOn = (data: NodeData, { outcome }: NodeOutcome): boolean =>
  outcome !== 'gone' && data.outbox.length === 0 && hasArrivals(data);

export function eventsWritten(state: Closing): NodeState {
  if (state.outbox.length > 0) return state;
  const { outcome, ...data } = state;
  if (!hasArrivals(data)) return ended(data, outcome);
  // They are about the machine that has the name now. Which one that is must be known first.
  return data.view ? atRest(outcome.outcome === 'gone' ? forgotten(data) : data) : state;
}

/** Without a machine there is nothing to look after; what came during the look may know of one. */
export function successorObserved(state: Closing, { view, arrivals }: NodeEventOf<'successorObserved'>): NodeState {
  const { outcome, ...data } = state;
  if (outcome.outcome !== 'gone' || state.outbox.length > 0) return state;
  if (view) return atRest(forgotten({ ...data, view, history: view.history ?? [] }));
  return data.inbox.length === arrivals ? ended(data, outcome) : state;
}
