/** What reading the Node object leads to: only what is read now counts. Pure. */

import { quarantineId } from '../../contract/ids.ts';
import type { NodeView } from '../../contract/node/nodes.ts';
import type { InPhase } from '../state-machine.ts';
import type { NodeEventOf } from './events.ts';
import { isoTime, returned, toRecords } from './messages.ts';
import { quarantined } from './quarantine.ts';
import { adopted, withoutRemedy } from './remedy.ts';
import {
  atRest,
  ended,
  type HeldQuarantine,
  isOut,
  type NodeData,
  type NodeState,
  reserving,
  withMessages,
} from './state.ts';

/** The machine that was looked after. */
type MachineId = Pick<NodeView, 'uid' | 'systemUuid'>;

export function observed(state: InPhase<NodeState, 'observing'>, { view, at }: NodeEventOf<'observed'>): NodeState {
  const { view: was, quarantine, held } = state;
  if (!view) return gone({ ...state, view: undefined }, was, 'the node object is gone', at);
  const data = { ...state, view };
  if (!was) return atRest(firstLook(data, view, at));
  if (view.uid !== was.uid) return replaced(data, was, view, at);
  if (quarantine?.taint === 'ours' && !view.taint?.ours) {
    const reason = view.taint ? 'the annotation beside our taint was removed by hand' : 'our taint was removed by hand';
    const request = { by: 'another client', reason };
    const because = `${request.by}: ${request.reason}`;
    return { ...withoutRemedy(data, because), phase: 'releasing', request, because };
  }
  return held?.reserved ? settled(data, held, view, at) : atRest(data);
}

/** A taint of ours that no workflow looks after: a person terminated the workflow that wrote it. Without one there is nothing to release. */
function firstLook(before: NodeData, { taint, history = [] }: NodeView, at: number): NodeData {
  const data = { ...before, history: [...history, ...before.history] };
  if (!taint?.ours) return { ...data, release: undefined };
  const { incident = quarantineId(data.node, data.quietSince), value } = taint;
  const because = `found quarantined: ${value}`;
  return {
    ...data,
    held: { because, since: data.quietSince, incident, reason: value || 'adopted', by: adopted, askAt: at },
  };
}

/** The same machine is quarantined again, as it returned without its taint; the quarantine of another machine waits for its return. */
function replaced(data: NodeData, was: MachineId, now: NodeView, at: number): NodeState {
  if (now.systemUuid === '' || now.systemUuid !== was.systemUuid)
    return gone(data, was, 'its name was taken by another node object', at);
  const {
    quarantine,
    held,
    remedy: _,
    ...rest
  } = withMessages(withoutRemedy(data, 'the node object was replaced'), returned(was.uid));
  if (quarantine) {
    const { because, reason, by, asks } = quarantine;
    return reserving(
      rest,
      {
        because: `the same machine returned: ${because}`,
        since: at,
        incident: quarantineId(data.node, at),
        reason,
        by,
        ...(asks && { asks }),
      },
      at,
    );
  }
  return held ? reserving(rest, { ...held, reserved: false }, at) : atRest(rest);
}

/** After a failed write: its taint counts if it is there; if not, the reservation is returned until it is requested again. */
function settled(data: NodeData, held: HeldQuarantine, { uid, taint }: NodeView, at: number): NodeState {
  if (taint?.ours && taint.incident === held.incident) return atRest(quarantined(data, held, 'ours', at));
  return atRest(withMessages({ ...data, held: { ...held, reserved: false } }, returned(uid)));
}

/** What arrived meanwhile may be about the machine that has its name now, so the end waits until this is recorded. */
function gone(data: NodeData, was: MachineId | undefined, because: string, at: number): NodeState {
  const { node, quarantine, faults } = data;
  // What was counted is about that machine.
  const rest = { ...withoutRemedy(data, because), history: data.view?.history ?? [] };
  const outcome = {
    node,
    outcome: 'gone' as const,
    because,
    ...(was && { systemUuid: was.systemUuid }),
    ...(isOut(data) && { quarantinedFor: faults.slice(-20) }),
  };
  if (!was) return ended(rest, outcome);
  const records = quarantine ? [toRecords(data, quarantine, was, { at: isoTime(at), outcome: 'gone', because })] : [];
  return { ...withMessages(rest, returned(was.uid), ...records), phase: 'closing', outcome };
}
