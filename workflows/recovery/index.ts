import {
  ActivityFailure,
  CancellationScope,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  setHandler,
} from '@temporalio/workflow';
import { eventReasons } from '../../contract/ids.ts';
import {
  type ApprovalRequest,
  type FaultsObserved,
  type JobPause,
  signals,
  statusQuery,
  updates,
} from '../../contract/wire/messages.ts';
import type { Question } from '../../contract/recovery/plan.ts';
import type { RecoveryInput, RecoveryOutcome, RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { attributeWriter, showDetails } from '../attributes.ts';
import { takeFaults } from '../faults.ts';
import { parsePause, validateOperatorRequest } from '../operator-requests.ts';
import { announce } from '../proxies.ts';
import { Machine } from '../state-machine.ts';
import type { EventForPeople } from './effects.ts';
import type { End } from './end.ts';
import type { RecoveryEvent } from './events.ts';
import { openQuestion, requireOpen } from './questions.ts';
import { reportOf } from './record.ts';
import { type Running, runPhase } from './run-phase.ts';
import { firstState, type RecoveryState } from './state.ts';
import { attributesOf, detailsOf, firstAttributes, statusOf } from './status.ts';
import { temporalTools } from './temporal-tools.ts';
import { recoveryTransitions } from './transitions.ts';
import { now } from '../arrivals.ts';

/** Answer of the updates `approve` and `deny`; `question`: what was answered. */
interface ApprovalAnswer {
  readonly incident: string;
  readonly approved: boolean;
  readonly question?: Question;
}

/** One incident: from the first fault until the job runs again, or until it is clear that it will not. */
export async function recovery(input: RecoveryInput): Promise<RecoveryOutcome> {
  const machine = new Machine<RecoveryState, RecoveryEvent>(recoveryTransitions, firstState(input, now()));
  const write = attributeWriter(firstAttributes);
  const running: Running = {
    get state() {
      return machine.state;
    },
    dispatch,
    announceAll: (events) => {
      if (events.length > 0) void announce(...events.map((event) => announcementOf(machine.state, event)));
    },
    tools: temporalTools,
  };
  handleMessages(running);

  // Look, decide, act; again after every stop, and whenever something arrives that the last look did not cover.
  try {
    while (!isOver()) await runPhase(running);
  } catch (error) {
    dispatch({ kind: 'interrupted', end: endOf(error) });
  }
  // A stop that was begun is finished, however the recovery ended.
  return CancellationScope.nonCancellable(async () => {
    for (;;) {
      const { state } = machine;
      if (state.phase === 'ended') return reportOf(state);
      await runPhase(running);
    }
  });

  function dispatch(event: Parameters<Running['dispatch']>[0]): RecoveryState {
    const { shown, timeline } = machine.state;
    const state = machine.dispatch({ ...event, at: now() });
    write(attributesOf(state));
    if (state.shown === shown && state.timeline === timeline) return state;
    const { title, rows } = detailsOf(state);
    showDetails(title, rows);
    return state;
  }

  function isOver(): boolean {
    return machine.state.phase === 'ending' || machine.state.phase === 'recording' || machine.state.phase === 'ended';
  }
}

function announcementOf({ input, stops }: RecoveryState, { type, reason, message, key }: EventForPeople) {
  const about = { kind: 'job', job: input.job } as const;
  return {
    about,
    type,
    reason: eventReasons[reason],
    message,
    key: key ?? `${input.incident}#${stops.length}/${message}`,
  };
}

function endOf(error: unknown): End {
  if (isCancellation(error)) return { outcome: 'cancelled', because: 'the recovery was cancelled' };
  if (!(error instanceof ActivityFailure)) throw error;
  return {
    outcome: 'escalated',
    because: `${error.activityType} failed for good: ${error.cause?.message ?? error.message}`,
  };
}

function handleMessages(running: Running): void {
  const { dispatch } = running;
  setHandler(
    defineSignal<[FaultsObserved]>(signals.faultsObserved),
    (payload) => void dispatch({ kind: 'faultsObserved', faults: takeFaults(payload).faults }),
  );
  setHandler(defineSignal(signals.recheck), () => void dispatch({ kind: 'recheckRequested' }));
  setHandler(
    defineSignal<[JobPause]>(signals.jobPaused),
    (payload) => void dispatch({ kind: 'pauseChanged', paused: parsePause(payload) }),
  );
  setHandler(defineQuery<RecoveryStatus>(statusQuery), () => statusOf(running.state));

  const answer =
    (approved: boolean) =>
    ({ by, reason }: ApprovalRequest): ApprovalAnswer => {
      const { input, questions } = running.state;
      dispatch({ kind: 'questionAnswered', given: { approved, by, reason } });
      return { incident: input.incident, approved, ...openQuestion(questions) };
    };
  const validator = (request: ApprovalRequest): void => {
    validateOperatorRequest(request);
    requireOpen(running.state.questions, request.question);
  };
  setHandler(defineUpdate<ApprovalAnswer, [ApprovalRequest]>(updates.approve), answer(true), {
    description: 'Lets the recovery go on',
    validator,
  });
  setHandler(defineUpdate<ApprovalAnswer, [ApprovalRequest]>(updates.deny), answer(false), {
    description: 'Ends the recovery; nothing is stopped',
    validator,
  });
}
