/** Releases a node, and reports only what was confirmed. */

import { type Fault, nodeNotReady } from '../contract/faults.ts';
import type { OperatorRequest } from '../contract/messages.ts';
import type { NodeOutcome, NodeView } from '../contract/nodes.ts';
import { iso } from './attributes.ts';
import type { NodeState } from './node-state.ts';
import type { NodeNotifier } from './node-notifier.ts';
import { attempt, perform } from './proxies.ts';

interface Releasing {
  readonly node: string;
  readonly request: OperatorRequest;
  readonly view: NodeView | undefined;
  readonly state: NodeState;
  readonly notifier: NodeNotifier;
}

/** A fault that no person's request changes: only Kubernetes says whether the node is ready. */
export const isOutage = (fault: Fault): boolean => fault.code === nodeNotReady;

/** `gone`: the machine no longer exists, so look again. `later`: the taint is still there, so the quarantine stands and the release is tried again. */
export async function release(releasing: Releasing): Promise<Pick<NodeOutcome, 'outcome' | 'because'> | 'gone' | 'later'> {
  const { node, request, view, state, notifier } = releasing;
  const because = `${request.by}: ${request.reason}`;
  const incident = incidentOnNode(view, state);
  let remainingTaint: string | undefined;
  if (view && incident !== undefined) {
    const { judged } = state;
    const releaseRequest = { node, uid: view.uid, incident, by: request.by, because: request.reason, ...(judged ? { judged } : {}) };
    const answer = await attempt(perform('releaseNode', `release ${node}: ${because}`, releaseRequest));
    if ('failed' in answer) return failed(releasing, incident, answer.failed);
    const { done } = answer;
    if (done.kind === 'gone') return 'gone';
    if (done.kind === 'released') notifier.say('Normal', 'released', `released by ${because}`, incident);
    ({ remainingTaint } = done);
  }
  if (view) await notifier.releaseReservation(view.uid);
  const came =
    remainingTaint === undefined ? ({ outcome: 'released', because } as const) : ({ outcome: 'not-ours', because: `${because}; ${remainingTaint}` } as const);
  await notify(releasing, came);
  return came;
}

/** The incident of the taint that the node has, or may have: a failed write may have succeeded, and an earlier run may have left its own. */
function incidentOnNode(view: NodeView | undefined, { quarantine, held }: NodeState): string | undefined {
  if (quarantine) return quarantine.incident;
  if (held?.reserved) return held.incident;
  return view?.taint?.ours ? (view.taint.incident ?? held?.incident) : undefined;
}

/** A taint that stays although it is not ours keeps pods off the node, so people are notified. */
async function notify({ node, view, state, notifier }: Releasing, { outcome, because }: Pick<NodeOutcome, 'outcome' | 'because'>): Promise<void> {
  const { quarantine } = state;
  state.because = because;
  if (outcome === 'not-ours') notifier.say('Warning', 'releaseFailed', because, `${quarantine?.incident ?? node}/${outcome}`);
  await notifier.notifyJobs(
    state.faults.filter((fault) => !isOutage(fault)),
    'released',
    because,
  );
  if (view && quarantine) await notifier.record(quarantine, view, { at: iso(Date.now()), outcome, because });
}

function failed({ request, state, notifier }: Releasing, incident: string, why: string): 'later' {
  state.release = request;
  state.releaseAt = Date.now() + state.askAgainMs;
  state.because = `still quarantined: it could not be released for ${request.by} (${request.reason}): ${why}`;
  notifier.say('Warning', 'releaseFailed', `${state.because}; the next try is at ${iso(state.releaseAt)}`, `${incident}/${why}`);
  return 'later';
}
