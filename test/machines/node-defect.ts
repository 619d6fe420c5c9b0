/** Deliberate defects of a node's machine, which its properties must find. */

import type { NodeEvent } from '../../workflows/node/events.ts';
import type { Message } from '../../workflows/node/messages.ts';
import type { NodeState } from '../../workflows/node/state.ts';
import { nodeTransitions } from '../../workflows/node/transitions.ts';
import type { Transition } from '../../workflows/state-machine.ts';
import { withTransition } from '../support/machine-properties.ts';

export const table = nodeTransitions;

export type Change = (after: NodeState, before: NodeState, event: NodeEvent) => NodeState;

/** The table with a deliberate defect: what `change` makes of the state after one kind of event in one phase. */
export function defect(
  phase: NodeState['phase'],
  kind: NodeEvent['kind'],
  change: Change,
  ...to: NodeState['phase'][]
): typeof table {
  const original = (table[phase] as Readonly<Record<string, Transition<NodeState, NodeState, NodeEvent>>>)[kind];
  const next = (state: NodeState, event: NodeEvent) => change(original?.next(state, event) ?? state, state, event);
  return withTransition(table, phase, kind, { to: [...(original?.to ?? []), ...to], next });
}

export const without = (state: NodeState, to: Message['to']): NodeState => ({
  ...state,
  outbox: state.outbox.filter((message) => message.to !== to),
});
export const asBefore: Change = (_, before) => before;
