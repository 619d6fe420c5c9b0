/** From the decision about faults to a quarantine in force. Pure. */

import type { NodeDecision } from '../../contract/wire/activities.ts';
import { quarantineId } from '../../contract/ids.ts';
import type { InPhase } from '../state-machine.ts';
import { beginRemedy, doubting, toRemedy } from './remedy.ts';
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
  const { kind, because } = decision;
  const isPersons = request !== undefined;
  const data = convicted(doubting(remember(before, decision), decision, request), decision);
  if (kind === 'quarantine' && !data.quarantine) {
    const held = heldFor(data.held, decision, quarantineId(data.node, decision.at), request);
    const notifications = decision.asks ? jobsOf(data, decision) : [];
    return reserving(data, held, at, [...notifications, ...(isPersons ? [] : eventsOf(data, decision, because))]);
  }
  const why = kind === 'observe' && !isOut(data) ? `mode is observe; would quarantine: ${because}` : because;
  const isAnswered = answers(before, decision);
  const stays = (isOut(data) || isPersons) && !isAnswered;
  const explained = { ...data, because: stays ? data.because : why };
  return atRest(
    withMessages(
      beginRemedy(explained, decision.ladder, at),
      ...toRemedy(data, decision, request),
      ...(isAnswered ? toJobs(data.faults, 'quarantined', because) : jobsOf(data, decision)),
      ...(isPersons ? [] : eventsOf(data, decision, why)),
    ),
  );
}

/** What was only asked about a quarantine in force is answered by a fault that convicts the node; a refusal that takes back faults is asked again. */
function convicted<Data extends NodeData>(data: Data, decision: NodeDecision): Data {
  const { quarantine, held } = data;
  if (decision.cancels && held) return { ...data, recheck: true };
  if (!quarantine || !answers(data, decision)) return data;
  const { asks: _, ...rest } = quarantine;
  return { ...data, quarantine: { ...rest, because: decision.because } };
}

const answers = ({ quarantine }: NodeData, { kind, asks }: NodeDecision): boolean =>
  quarantine?.asks === true && kind === 'quarantine' && !asks;

/** A node that stays in service, or is only asked about, restarts the jobs of some faults alone. */
function jobsOf({ quarantine }: NodeData, { kind, faults, because, asks, restarts = [] }: NodeDecision): Message[] {
  if (kind === 'quarantine' && !asks) return toJobs(faults, 'quarantined', quarantine?.because ?? because);
  if (kind === 'observe' && !asks) return toJobs(faults, 'observed', because);
  const named = faults.filter(({ id }) => restarts.includes(id));
  return [
    ...toJobs(named.filter(isOutage), 'not-ready', because),
    ...toJobs(
      named.filter((fault) => !isOutage(fault)),
      'in-service',
      because,
    ),
  ];
}

function eventsOf(data: NodeData, { kind, faults, asks, remedy }: NodeDecision, why: string): Message[] {
  const [first] = faults;
  if (!first) return [];
  const question = asks
    ? `to move its jobs away: ${remedy}; to use it as before: kcover node release ${data.node} --reason "..."`
    : `to keep new pods off it: ${remedy}`;
  const message = remedy ? `${why}; ${question}` : why;
  return toPeople(data, kind === 'record' ? 'Normal' : 'Warning', 'faultObserved', { message, key: first.id });
}

export function noLongerWanted(
  { afterwards, ...data }: InPhase<NodeState, 'reserving'>,
  { decision }: NodeEventOf<'noLongerWanted'>,
): NodeState {
  const { held, view, faults } = data;
  const because = `no longer to be quarantined: ${decision.because}`;
  const restarts = new Set(decision.restarts ?? []);
  const others = faults.filter((fault) => !isOutage(fault) && !restarts.has(fault.id));
  const dropped = withoutHeld({ ...data, because, quietSince: decision.at, quietMs: decision.quietMs });
  return atRest(
    withMessages(
      dropped,
      ...(held.reserved && view ? [returned(view.uid)] : []),
      ...toJobs(held.asks ? [] : others, decision.kind === 'observe' ? 'observed' : 'released', because),
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
          ...toJobs(held.asks ? [] : faults, 'held', refusal, held.storm),
          ...toPeople(data, 'Warning', 'quarantineHeld', {
            message: `${message}${partOf(held)}`,
            key: `${held.incident}/${refusal}`,
            storm: held.storm,
          }),
        ];
  return withMessages({ ...data, because, held: { ...held, reported: refusal } }, ...reports, ...afterwards);
}

const partOf = ({ storm }: HeldQuarantine): string =>
  storm === undefined ? '' : `; one of several nodes with this cause (${storm})`;

/** The taint was read back. */
export function quarantined(data: NodeData, held: HeldQuarantine, taint: 'ours' | 'other', at: number): NodeData {
  const { incident, because, reason, by, asks, ladder } = held;
  const quarantine = { incident, since: at, because, reason, taint, by, ...(asks && { asks }) };
  const beside = taint === 'other' ? '; a taint of the same key was there already and is left alone' : '';
  const after = withMessages(
    { ...data, because, quarantine, held: undefined, recheck: false },
    ...toPeople(data, 'Warning', 'quarantined', {
      message: `${because}${beside}${partOf(held)}`,
      key: incident,
      storm: held.storm,
    }),
    ...toJobs(asks ? [] : data.faults, 'quarantined', because, held.storm),
    ...(data.view ? [toRecords(data, quarantine, data.view)] : []),
  );
  return beginRemedy(after, ladder, at);
}
