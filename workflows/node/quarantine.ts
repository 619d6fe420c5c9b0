/** From the decision about faults to a quarantine in force. Pure. */

import type { NodeDecision } from '../../contract/wire/activities.ts';
import { quarantineId } from '../../contract/ids.ts';
import type { InPhase } from '../state-machine.ts';
import type { NodeEventOf } from './events.ts';
import { type Message, returned, toJobs, toPeople, toRecords } from './messages.ts';
import {
  atRest,
  heldFor,
  type HeldQuarantine,
  isOut,
  isOutage,
  type NodeData,
  type NodeState,
  remember,
  reserving,
  withMessages,
  withoutHeld,
} from './state.ts';

export function decided(
  { batch: { request }, ...before }: InPhase<NodeState, 'deciding'>,
  { decision, at }: NodeEventOf<'decided'>,
): NodeState {
  const data = remember(before, decision);
  const { kind, because } = decision;
  const isPersons = request !== undefined;
  if (kind === 'quarantine' && !data.quarantine) {
    const held = heldFor(data.held, decision, quarantineId(data.node, decision.at), request);
    return reserving(data, held, at, isPersons ? [] : eventsOf(data, decision, because));
  }
  const why = kind === 'observe' && !isOut(data) ? `mode is observe; would quarantine: ${because}` : because;
  const explained = { ...data, because: isOut(data) || isPersons ? data.because : why };
  return atRest(
    withMessages(explained, ...jobsOf(data, decision), ...(isPersons ? [] : eventsOf(data, decision, why))),
  );
}

function jobsOf({ quarantine }: NodeData, { kind, faults, because }: NodeDecision): Message[] {
  if (kind === 'quarantine') return toJobs(faults, 'quarantined', quarantine?.because ?? because);
  if (kind === 'observe') return toJobs(faults, 'observed', because);
  return kind === 'restart' ? toJobs(faults.filter(isOutage), 'not-ready', because) : [];
}

function eventsOf(data: NodeData, { kind, faults, remedy }: NodeDecision, why: string): Message[] {
  const [first] = faults;
  if (!first) return [];
  const message = remedy ? `${why}; to keep new pods off it: ${remedy}` : why;
  return toPeople(data, kind === 'record' ? 'Normal' : 'Warning', 'faultObserved', { message, key: first.id });
}

export function noLongerWanted(
  { afterwards, ...data }: InPhase<NodeState, 'reserving'>,
  { decision }: NodeEventOf<'noLongerWanted'>,
): NodeState {
  const { held, view, faults } = data;
  const because = `no longer to be quarantined: ${decision.because}`;
  const others = faults.filter((fault) => !isOutage(fault));
  const dropped = withoutHeld({ ...data, because, quietSince: decision.at, quietMs: decision.quietMs });
  return atRest(
    withMessages(
      dropped,
      ...(held.reserved && view ? [returned(view.uid)] : []),
      ...toJobs(others, decision.kind === 'observe' ? 'observed' : 'released', because),
      ...afterwards,
    ),
  );
}

/** Jobs and people are notified once of each refusal; the jobs hold. */
export function refused(
  { afterwards, ...data }: InPhase<NodeState, 'reserving' | 'quarantining'>,
  refusal: string,
): NodeData {
  const { node, held, faults } = data;
  const because = `held: ${refusal}; ${held.because}`;
  const message = `${because}; kcover node quarantine ${node} --reason "..." to quarantine it anyway`;
  const reports =
    held.reported === refusal
      ? []
      : [
          ...toJobs(faults, 'held', refusal),
          ...toPeople(data, 'Warning', 'quarantineHeld', { message, key: `${held.incident}/${refusal}` }),
        ];
  return withMessages({ ...data, because, held: { ...held, reported: refusal } }, ...reports, ...afterwards);
}

/** The taint was read back. */
export function quarantined(data: NodeData, held: HeldQuarantine, taint: 'ours' | 'other', at: number): NodeData {
  const { incident, because, reason, by } = held;
  const quarantine = { incident, since: at, because, reason, taint, by };
  const beside = taint === 'other' ? '; a taint of the same key was there already and is left alone' : '';
  return withMessages(
    { ...data, because, quarantine, held: undefined, recheck: false },
    ...toPeople(data, 'Warning', 'quarantined', { message: `${because}${beside}`, key: incident }),
    ...toJobs(data.faults, 'quarantined', because),
    ...(data.view ? [toRecords(data, quarantine, data.view)] : []),
  );
}
