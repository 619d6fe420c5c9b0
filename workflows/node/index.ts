import { continueAsNew, defineQuery, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import {
  type FaultsObserved,
  faultsQuery,
  type NodeObserved,
  type OperatorRequest,
  signals,
  statusQuery,
  updates,
} from '../../contract/wire/messages.ts';
import type { NodeFaults, NodeInput, NodeOutcome, NodeStatus } from '../../contract/node/nodes.ts';
import type { RemedyProgress } from '../../contract/remedy/remedy.ts';
import { isHistoryLong, now } from '../arrivals.ts';
import { attributeWriter, showDetails } from '../attributes.ts';
import { takeFaults } from '../faults.ts';
import { validateOperatorRequest } from '../operator-requests.ts';
import { awaitLastMessages } from '../proxies.ts';
import { Machine } from '../state-machine.ts';
import { type NodeMachine, runEffect, send } from './effects.ts';
import { firstState, isAtRest, isOut, type NodeState, requestIn } from './state.ts';
import { progressIn } from './remedy.ts';
import { attributesOf, detailsOf, faultsOf, statusOf } from './status.ts';
import { nodeTransitions } from './transitions.ts';

/** Looks after one node from its first fault until it is released, gone, or quiet again. */
export async function nodeQuarantine({
  node,
  state: continued,
}: NodeInput & { readonly state?: NodeState }): Promise<NodeOutcome> {
  const machine: NodeMachine = new Machine(nodeTransitions, continued ?? firstState(node, now()));
  // First of all: does the node still exist, and is it still the same machine?
  if (continued) machine.dispatch({ kind: 'runContinued' });
  const write = attributeWriter();
  handleMessages(machine);

  for (;;) {
    const { state } = machine;
    publish(state);
    const [message] = state.outbox;
    if (message) {
      await send(node, message);
      machine.dispatch({ kind: 'sent' });
    } else if (state.phase === 'ended') {
      return state.outcome;
    } else if (isAtRest(state) && isHistoryLong()) {
      await awaitLastMessages();
      return continueAsNew<typeof nodeQuarantine>({ node, state: machine.state });
    } else {
      const event = await runEffect(state, machine);
      if (event) machine.dispatch(event);
    }
  }

  function publish(state: NodeState): void {
    const attributes = attributesOf(state);
    if (attributes) write(attributes);
    const { title, rows } = detailsOf(state);
    showDetails(title, rows);
  }
}

function handleMessages(machine: NodeMachine): void {
  setHandler(defineQuery<NodeStatus>(statusQuery), () => statusOf(machine.state));
  setHandler(defineQuery<NodeFaults>(faultsQuery), () => faultsOf(machine.state));
  setHandler(defineSignal<[FaultsObserved]>(signals.faultsObserved), (payload) => {
    machine.dispatch({ kind: 'faultsObserved', ...takeFaults(payload) });
  });
  setHandler(defineSignal<[NodeObserved]>(signals.nodeObserved), () => {
    machine.dispatch({ kind: 'nodeObserved' });
  });
  setHandler(defineSignal<[RemedyProgress]>(signals.remedyProgressed), (payload) => {
    const progress = progressIn(payload);
    if (progress) machine.dispatch({ kind: 'remedyProgressed', progress });
  });
  setHandler(defineSignal(signals.recheck), () => {
    machine.dispatch({ kind: 'recheckRequested' });
  });
  setHandler(
    defineSignal<[OperatorRequest]>(signals.quarantine),
    (request) => {
      machine.dispatch({ kind: 'quarantineRequested', request: requestIn(request) });
    },
    { description: 'Quarantines the node: {"by": "...", "reason": "..."}' },
  );
  setHandler(
    defineUpdate<{ incident: string }, [OperatorRequest]>(updates.release),
    (request) => {
      const { quarantine, held } = machine.dispatch({ kind: 'releaseRequested', request });
      return { incident: quarantine?.incident ?? held?.incident ?? '' };
    },
    {
      description: 'Releases the node',
      validator: (request) => {
        validateOperatorRequest(request);
        const { state } = machine;
        // Before the first look this is not known: it may find a taint that an earlier run left.
        if (state.view && !isOut(state)) throw new Error(`${state.node} is not quarantined`);
      },
    },
  );
}
