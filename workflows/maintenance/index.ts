import {
  ApplicationFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import {
  type MaintenanceInput,
  type MaintenanceOutcome,
  type MaintenancePlan,
  type MaintenanceStatus,
  whyNoWindow,
} from '../../contract/node/maintenance.ts';
import { type OperatorRequest, statusQuery, updates } from '../../contract/wire/messages.ts';
import { isHistoryLong, now } from '../arrivals.ts';
import { attributeWriter, showDetails } from '../attributes.ts';
import { validateOperatorRequest } from '../operator-requests.ts';
import { allAnnounced, announce, awaitLastMessages } from '../proxies.ts';
import { Machine } from '../state-machine.ts';
import { type MaintenanceMachine, runEffect } from './effects.ts';
import { firstState, type MaintenanceState } from './state.ts';
import { attributesOf, detailsOf, firstAttributes, statusOf } from './status.ts';
import { maintenanceTransitions } from './transitions.ts';

/** Takes one node out of service before people work on it, and back when they are done. */
export async function maintenance(
  input: MaintenanceInput & { readonly state?: MaintenanceState },
): Promise<MaintenanceOutcome> {
  const because = input.state ? undefined : whyNoWindow(input.plan, now());
  if (because !== undefined) throw ApplicationFailure.nonRetryable(because);
  const machine: MaintenanceMachine = new Machine(maintenanceTransitions, input.state ?? firstState(input, now()));
  const write = attributeWriter(firstAttributes);
  handleMessages(machine);
  for (;;) {
    const { state } = machine;
    const [event] = state.outbox;
    write(attributesOf(state));
    const { title, rows } = detailsOf(state);
    showDetails(title, rows);
    if (event) {
      void announce(event);
      machine.dispatch({ kind: 'sent' });
    } else if (state.phase === 'ended') {
      await condition(allAnnounced);
      return state.outcome;
    } else if (isHistoryLong()) {
      await awaitLastMessages();
      return continueAsNew<typeof maintenance>({ ...input, state: machine.state });
    } else {
      const answer = await runEffect(state, machine);
      // What comes after a person has ended the phase is about the past.
      if (answer && machine.state.phase === state.phase) machine.dispatch(answer);
    }
  }
}

function handleMessages(machine: MaintenanceMachine): void {
  setHandler(defineQuery<MaintenanceStatus>(statusQuery), () => statusOf(machine.state));
  setHandler(
    defineUpdate<MaintenanceStatus, [OperatorRequest]>(updates.cancel),
    (request) => statusOf(machine.dispatch({ kind: 'cancelRequested', request })),
    {
      description: 'Ends the maintenance now',
      validator: (request) => {
        validateOperatorRequest(request);
        requireOpen(machine);
      },
    },
  );
  setHandler(
    defineUpdate<MaintenanceStatus, [MaintenancePlan]>(updates.replan),
    (plan) => statusOf(machine.dispatch({ kind: 'replanned', plan, at: now() })),
    {
      description: 'Gives the maintenance another window',
      validator: (plan) => {
        validateOperatorRequest(plan);
        requireOpen(machine);
        const because = whyNoWindow(plan, now());
        if (because !== undefined) throw new Error(because);
      },
    },
  );
}

function requireOpen({ state }: MaintenanceMachine): void {
  if (state.phase === 'returning' || state.phase === 'ended' || (state.phase === 'quarantining' && state.cancelled))
    throw new Error(`the maintenance of ${state.node} is ending already: ${state.because}`);
}
