import { ActivityFailure } from '@temporalio/common';
import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  setHandler,
} from '@temporalio/workflow';
import type { RemedyCancelled, RemedyInput, RemedyOutcome, RemedyStatus } from '../../contract/remedy/remedy.ts';
import { type FaultsObserved, signals, statusQuery } from '../../contract/wire/messages.ts';
import { isHistoryLong, now } from '../arrivals.ts';
import { attributeWriter, showDetails } from '../attributes.ts';
import { isObject, takeFaults, textOf } from '../faults.ts';
import { allAnnounced, awaitLastMessages } from '../proxies.ts';
import { Machine } from '../state-machine.ts';
import { type RemedyMachine, report, runEffect, send } from './effects.ts';
import type { RemedyEvent } from './events.ts';
import { firstState, type RemedyState } from './state.ts';
import { attributesOf, detailsOf, firstAttributes, progressKey, progressOf, statusOf } from './status.ts';
import { remedyTransitions } from './transitions.ts';

/** Repairs one quarantined node, rung by rung, until it is cured, or a person has to act. */
export async function remedy(input: RemedyInput & { readonly state?: RemedyState }): Promise<RemedyOutcome> {
  const { state: continued, ...begun } = input;
  const machine: RemedyMachine = new Machine(remedyTransitions, continued ?? firstState(begun));
  handleMessages(machine);
  // What it holds is given back, and the node is notified, also where the workflow itself is cancelled.
  CancellationScope.current().cancelRequested.catch(() =>
    machine.dispatch({ kind: 'cancelRequested', because: 'the workflow of the remedy was cancelled', at: now() }),
  );
  return CancellationScope.nonCancellable(() => run(machine, begun));
}

async function run(machine: RemedyMachine, input: RemedyInput): Promise<RemedyOutcome> {
  const write = attributeWriter(firstAttributes);
  let reported: string | undefined;
  for (;;) {
    const { state } = machine;
    publish(state, write);
    const key = progressKey(state);
    const [message] = state.outbox;
    if (key !== undefined && key !== reported) {
      reported = key;
      await report(input.node, progressOf(state, now()));
    } else if (message) {
      await send(message);
      machine.dispatch({ kind: 'sent' });
    } else if (state.phase === 'ended') {
      await condition(allAnnounced);
      return state.outcome;
    } else if ((state.phase === 'waiting' || state.phase === 'probation') && isHistoryLong()) {
      await awaitLastMessages();
      return continueAsNew<typeof remedy>({ ...input, state: machine.state });
    } else {
      const event = await runEffect(state, machine).catch(giveUp);
      if (event) machine.dispatch(event);
    }
  }
}

/** An activity that failed for good, although it is retried: nothing more is done to the node. */
function giveUp(error: unknown): RemedyEvent {
  if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
  return { kind: 'cancelRequested', because: (error.cause ?? error).message, at: now() };
}

function publish(state: RemedyState, write: ReturnType<typeof attributeWriter>): void {
  const attributes = attributesOf(state);
  if (attributes) write(attributes);
  const { title, rows } = detailsOf(state);
  showDetails(title, rows);
}

function handleMessages(machine: RemedyMachine): void {
  setHandler(defineQuery<RemedyStatus>(statusQuery), () => statusOf(machine.state, Date.now()));
  setHandler(defineSignal<[FaultsObserved]>(signals.faultsObserved), (payload) => {
    machine.dispatch({ kind: 'faultsObserved', ...takeFaults(payload), at: now() });
  });
  setHandler(defineSignal(signals.recheck), () => {
    machine.dispatch({ kind: 'recheckRequested' });
  });
  setHandler(
    defineSignal<[RemedyCancelled]>(signals.remedyCancelled),
    (payload) => {
      const because = (isObject(payload) ? textOf(payload.because) : undefined) ?? 'cancelled by signal';
      machine.dispatch({ kind: 'cancelRequested', because, at: now() });
    },
    { description: 'Ends the repair of the node, which stays quarantined: {"because": "..."}' },
  );
}
