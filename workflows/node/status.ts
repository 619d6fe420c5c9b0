/** What the state of a node looks like from outside: answer of the query, current details, search attributes. Pure. */

import { isQuarantined, type NodeFaults, type NodeStatus, quarantinedPhases } from '../../contract/node/nodes.ts';
import type { Attributes, Details } from '../attributes.ts';
import { isoTime, withNodeState } from './messages.ts';
import { deadlineOf, isAtRest, isOut, type NodeState, pendingWork } from './state.ts';

/** The phase that people see: a quarantine stays one while its node is read or new faults are judged. */
function shownPhase(state: NodeState): NodeStatus['phase'] {
  const { phase, quarantine, held, inbox, outbox, view } = state;
  if (phase === 'releasing' || (phase === 'closing' && outbox.length > 0 && state.outcome.outcome !== 'gone'))
    return 'releasing';
  if (quarantine) return repairPhase(state);
  if (held?.reported !== undefined) return 'held';
  const isFirstLook = phase === 'observing' && view === undefined;
  return isFirstLook || phase === 'deciding' || held || inbox.length > 0 || outbox.length > 0 ? 'deciding' : 'watching';
}

/** A remedy that waits, or has ended without a cure, leaves the node as it is. */
function repairPhase({ remedy }: NodeState): (typeof quarantinedPhases)[number] {
  if (remedy?.outcome === 'retired') return 'retired';
  return quarantinedPhases.find((phase) => phase === remedy?.phase) ?? 'quarantined';
}

function waitingFor({ node, releaseAt, quarantine, held, remedy }: NodeState): string {
  if (releaseAt !== undefined) return 'another try to release it';
  if (quarantine && remedy && remedy.phase !== 'ended') return `its repair, or kcover node release ${node}`;
  if (quarantine) return `kcover node release ${node}`;
  return held ? 'a reservation to quarantine' : 'more faults';
}

function shownDeadline(state: NodeState): string | undefined {
  const deadline = isOut(state) || state.phase === 'watching' ? deadlineOf(state) : undefined;
  return deadline === undefined ? state.remedy?.until : isoTime(deadline);
}

export function statusOf(state: NodeState): NodeStatus {
  const { node, view, because, faults, quietSince, remedy } = state;
  const out = state.quarantine ?? state.held;
  const until = shownDeadline(state);
  return {
    node,
    phase: shownPhase(state),
    because,
    since: isoTime(out?.since ?? quietSince),
    faults: faults.map(({ code, message, seenAt }) => ({ code, message, seenAt })),
    waitingFor: waitingFor(state),
    ...(view && { uid: view.uid }),
    ...(out && { incident: out.incident, by: out.by }),
    ...(until !== undefined && { until }),
    ...(remedy && { remedy }),
  };
}

/** For a job that asks: a node that is not to be quarantined explains no failure of a pod, and neither does what others than the node may have written. */
export function faultsOf(state: NodeState): NodeFaults {
  const phase = shownPhase(state);
  const own = state.faults.filter(({ untrusted }) => untrusted !== true);
  const known = isQuarantined({ phase }) ? 'quarantined' : phase;
  return { faults: known === 'quarantined' || known === 'held' ? withNodeState(own, known, state.because) : [] };
}

const isWaiting = (state: NodeState): boolean =>
  isAtRest(state) && state.outbox.length === 0 && pendingWork(state) === undefined;

/** Undefined where they stay as they are, on the way from one wait to the next: every upsert is an event. */
export function attributesOf(state: NodeState): Attributes | undefined {
  if (state.phase === 'ended') return { KcoverOutcome: state.outcome.outcome, KcoverPhase: 'ended' };
  const phase = shownPhase(state);
  const isSettled = isQuarantined({ phase }) || phase === 'releasing' || isWaiting(state);
  return isSettled
    ? { KcoverNode: [state.node], KcoverPhase: phase, ...(state.faults[0] && { KcoverFault: state.faults[0].code }) }
    : undefined;
}

export function detailsOf(state: NodeState): Details {
  const { node, because, faults, remedy } = state;
  if (state.phase === 'ended') return { title: `${node}: ${state.outcome.outcome}`, rows: [['because', because]] };
  const last = faults.slice(-10).map((fault) => `${fault.code} at ${fault.seenAt}: ${fault.message}`);
  return {
    title: `${node}: ${shownPhase(state)}`,
    rows: [
      ['because', because],
      ['waiting for', waitingFor(state)],
      ['until', shownDeadline(state)],
      ['incident', (state.quarantine ?? state.held)?.incident],
      ['repair', remedy && `${remedy.outcome ?? remedy.phase}: ${remedy.because}`],
      ['attempts', remedy?.remediations.map((one) => `${one.rung}: ${one.outcome}: ${one.because}`).join('; ')],
      ['faults', last.join('; ')],
    ],
  };
}
