import { continueAsNew, defineQuery, defineSignal, setHandler } from '@temporalio/workflow';
import { signals, statusQuery } from '../../contract/wire/messages.ts';
import type {
  PodsTesting,
  PreflightInput,
  PreflightOutcome,
  PreflightStatus,
  ReportsArrived,
} from '../../contract/preflight/runs.ts';
import { isHistoryLong, now } from '../arrivals.ts';
import { attributeWriter, showDetails } from '../attributes.ts';
import { awaitLastMessages } from '../proxies.ts';
import { Machine } from '../state-machine.ts';
import { runEffect } from './effects.ts';
import { readPod, readReports } from './messages.ts';
import { canContinueAsNew, firstState, type PreflightState } from './state.ts';
import { attributesOf, detailsOf, outcomeIn, statusOf } from './status.ts';
import { timerControl } from './timers.ts';
import { type Answer, type PreflightEvent, preflightTransitions } from './transitions.ts';

/** Collects the preflight reports of one workload, run by run, and ends each run with one verdict. */
export async function preflight({
  workload,
  state: continued,
}: PreflightInput & { readonly state?: PreflightState }): Promise<PreflightOutcome> {
  const machine = new Machine<PreflightState, PreflightEvent>(preflightTransitions, continued ?? firstState(now()));
  const write = attributeWriter();
  const setTimers = timerControl((event) => machine.dispatch(event));
  handleMessages();
  publish();

  // Signals that came with the start are there already.
  dispatchAnswer(machine.state, { kind: 'changesSeen' });
  for (;;) {
    const { state } = machine;
    if (canContinueAsNew(state) && isHistoryLong()) {
      await awaitLastMessages();
      if (canContinueAsNew(machine.state)) return continueAsNew<typeof preflight>({ workload, state: machine.state });
      continue;
    }
    setTimers(state);
    // Opening takes milliseconds, and showing it would cost an event.
    if (state.phase !== 'opening') publish();
    if (state.phase === 'ended') return outcomeIn(workload, state);
    dispatchAnswer(state, await runEffect(workload, state, () => machine.state));
  }

  function dispatchAnswer({ effect }: PreflightState, answer: Answer): void {
    machine.dispatch({ ...answer, effect, at: now() });
  }

  /** Not for each signal, of which thousands may come: nothing of theirs is shown before it is sorted. */
  function publish(): void {
    write(attributesOf(machine.state));
    const { title, rows } = detailsOf(workload, machine.state);
    showDetails(title, rows);
  }

  function handleMessages(): void {
    setHandler(defineQuery<PreflightStatus>(statusQuery), () => statusOf(workload, machine.state));
    setHandler(defineSignal<[ReportsArrived]>(signals.reportsArrived), (payload) => {
      machine.dispatch({ kind: 'reportsArrived', ...readReports(payload), at: now() });
    });
    setHandler(defineSignal<[PodsTesting]>(signals.podsTesting), (payload) => {
      const pod = readPod(payload);
      const at = now();
      machine.dispatch(
        pod ? { kind: 'podsTesting', pod, at } : { kind: 'reportsArrived', reports: [], refused: [], dropped: 1, at },
      );
    });
    setHandler(defineSignal(signals.podsGone), () => void machine.dispatch({ kind: 'podsGone', at: now() }));
  }
}
