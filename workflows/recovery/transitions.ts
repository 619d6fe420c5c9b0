/** What each event does to the state of a recovery. Pure. */

import type { CommonTransitions, Transition, Transitions } from '../state-machine.ts';
import { attemptAwaited, enterStarting, progressAwaited } from './attempt-transitions.ts';
import { refusal } from './end.ts';
import type { EventOf, RecoveryEvent } from './events.ts';
import { beginHold } from './holds.ts';
import {
  notProvenDead,
  forcedEver,
  isPassedOver,
  noted,
  showing,
  withFaults,
  withHandled,
  withJobBefore,
} from './incident.ts';
import { decided, prepared } from './plan-transitions.ts';
import { answer, ask, drop, expire } from './questions.ts';
import { decideAgain, enter, enterEnding, type In, type Phase, type RecoveryState } from './state.ts';
import { changedStep, changedSteps } from './steps/index.ts';
import { othersFound, stopAnswered, stopStarted } from './stop-transitions.ts';

/** An incident that cannot observe, or is paused, for this long is escalated; its faults stay with the job. */
const escalateAfterMs = 24 * 3_600_000;

/** An entry for the answer of an effect: it counts only in the phase that asked for it. */
const answered = <Before extends RecoveryState, Event extends { readonly turn: number }>(
  to: readonly Phase[],
  next: (state: Before, event: Event) => RecoveryState,
): Transition<RecoveryState, Before, Event> => ({
  to,
  next: (state, event) => (event.turn === state.turn ? next(state, event) : state),
});

/** In every phase. */
const always = {
  faultsObserved: { to: [], next: (state, { faults, at }) => withFaults(state, faults, at) },
  recheckRequested: { to: [], next: (state) => ({ ...state, revision: state.revision + 1 }) },
  pauseChanged: { to: [], next: (state, { paused }) => ({ ...state, paused, revision: state.revision + 1 }) },
  questionAnswered: {
    to: [],
    next: (state, { given, at }) => ({ ...state, questions: answer(state.questions, given, at) }),
  },
} satisfies CommonTransitions<RecoveryState, RecoveryEvent>;

/** Where a job may be resumed, which may take long. */
const resuming = {
  happened: answered([], (state, { what, because, at }: EventOf<'happened'>) => noted(state, at, what, because)),
  resumed: answered([], (state) => ({ ...state, suspended: false })),
} satisfies CommonTransitions<RecoveryState, RecoveryEvent>;

/** As long as it has not come to an end: whatever ends it, a job that it suspended is resumed. */
const open = {
  ...always,
  interrupted: { to: ['ending'], next: (state, { end }) => enterEnding(state, end) },
} satisfies CommonTransitions<RecoveryState, RecoveryEvent>;

/** What a step does, before a stop or after it. */
const stepping = {
  happened: resuming.happened,
  stepChanged: answered([], (state, { step, change }: EventOf<'stepChanged'>) => ({
    ...state,
    steps: changedStep(state.steps, step, change),
  })),
  shown: answered([], (state, { phase, words, at }: EventOf<'shown'>) => showing(state, at, phase, words)),
  asked: answered([], (state, { name, approval, at }: EventOf<'asked'>) => ({
    ...state,
    questions: ask(state.questions, name, approval, at),
  })),
  answerAwaited: answered([], (state, { name, at }: EventOf<'answerAwaited'>) => ({
    ...state,
    questions: expire(state.questions, name, at),
  })),
  questionDropped: answered([], (state, { name }: EventOf<'questionDropped'>) => ({
    ...state,
    questions: drop(state.questions, name),
  })),
  waited: answered([], (state, { ms }: EventOf<'waited'>) => ({
    ...state,
    steps: changedSteps(state.steps, { kind: 'waited', ms }),
  })),
  trainedOn: answered([], (state) => ({ ...state, steps: changedSteps(state.steps, { kind: 'trainedOn' }) })),
  processesAsked: answered([], (state) => ({ ...state, stopsStarted: state.stopsStarted + 1 })),
  progressSeen: answered([], (state, { progress }: EventOf<'progressSeen'>) => ({
    ...state,
    progress: { ...state.progress, after: progress },
  })),
  levelTried: answered([], (state, { tried }: EventOf<'levelTried'>) => ({ ...state, tried: [...state.tried, tried] })),
  passedOverDropped: answered([], (state) =>
    isPassedOver(state) ? { ...state, tried: state.tried.slice(0, -1) } : state,
  ),
  nextSizeChosen: answered([], (state, { pods }: EventOf<'nextSizeChosen'>) => ({ ...state, nextPods: pods })),
} satisfies CommonTransitions<RecoveryState, RecoveryEvent>;

export const recoveryTransitions: Transitions<RecoveryState, RecoveryEvent> = {
  deciding: {
    ...open,
    lookStarted: answered([], lookStarted),
    attemptObserved: answered([], (state, { job }) => (job ? withJobBefore(state, job) : state)),
    lookOutdated: answered([], decideAgain),
    decided: answered(['ending', 'held', 'preparing', 'starting'], decided),
  },
  held: {
    ...open,
    holdStarted: answered([], holdStarted),
    subscribed: answered([], (state) => ({ ...state, subscribedAt: state.revision })),
    lookOutdated: answered(['deciding'], decideAgain),
    denied: answered(['ending'], (state, { answer: given, at }) =>
      enterEnding(noted(state, at, 'denied', `${given.by}: ${given.reason}`), refusal(given)),
    ),
    holdExpired: answered(['ending'], holdExpired),
  },
  preparing: { ...open, ...stepping, prepared: answered(['deciding', 'preparing', 'stopping', 'ending'], prepared) },
  stopping: {
    ...open,
    lookOutdated: answered(['deciding'], decideAgain),
    othersFound: answered(['backing-off', 'ending'], othersFound),
    stopStarted: answered([], stopStarted),
    stopAnswered: answered(['between-attempts', 'backing-off', 'ending'], stopAnswered),
  },
  'backing-off': { ...open, lookOutdated: answered(['deciding'], decideAgain) },
  'between-attempts': {
    ...open,
    ...stepping,
    ...resuming,
    // A job that is still suspended has no next attempt.
    attemptReleased: answered(['starting'], (state, { at }) =>
      state.suspended ? state : enterStarting(withHandled(state, state.covers.faults), at),
    ),
  },
  starting: { ...open, attemptAwaited: answered(['deciding', 'placing', 'verifying', 'ending'], attemptAwaited) },
  placing: { ...open, attemptAwaited: answered(['deciding', 'verifying', 'ending'], attemptAwaited) },
  verifying: { ...open, progressAwaited: answered(['deciding', 'ending'], progressAwaited) },
  ending: { ...always, ...resuming, settled: answered(['recording'], settled) },
  recording: {
    ...always,
    recorded: answered(['ended'], (state, { at }) =>
      showing(enter(state, { ...ofEnd(state), phase: 'ended' }), at, 'ended', inShort(state)),
    ),
  },
  ended: always,
};

function lookStarted(state: In<'deciding'>, { at }: EventOf<'lookStarted'>): RecoveryState {
  const looked = { ...state, looked: state.faults.map(({ id }) => id) };
  // What a person has to do stays visible while it is held.
  if (state.holds.times > 0) return looked;
  return showing(looked, at, 'deciding', { because: state.faults[0]?.message ?? '', waitingFor: 'a look at the job' });
}

function holdStarted(state: In<'held'>, { at }: EventOf<'holdStarted'>): RecoveryState {
  const { decision, reason } = state;
  const { holds, isFirst, since } = beginHold(state.holds, reason, at);
  const until = since + (reason === 'held' ? state.input.limits.holdMs : escalateAfterMs);
  const held = showing({ ...state, holds, until }, at, 'held', {
    because: `held: ${decision.because}`,
    waitingFor: decision.remedy,
    until,
  });
  return isFirst ? noted(held, at, 'held', decision.because) : held;
}

function holdExpired(state: In<'held'>): RecoveryState {
  const because = `still held after its deadline: ${state.decision.because}`;
  return enterEnding(state, { outcome: 'escalated', because, unhandled: state.reason !== 'held' });
}

/** However the recovery ends, kcover's own suspend is removed, or the end says that it is not. */
function settled(state: In<'ending'>, { failed, at }: EventOf<'settled'>): RecoveryState {
  if (state.suspended && failed === undefined) return state;
  const { because, ...end } =
    failed === undefined
      ? state.end
      : { outcome: 'escalated' as const, because: `${state.end.because}; and ${failed}` };
  const why = `${because}${notProvenDead(forcedEver(state))}`;
  const closed = noted({ ...state, questions: { asked: state.questions.asked } }, at, end.outcome, why);
  const shown = showing(closed, at, 'recording', { because: why, waitingFor: 'the record store' });
  return enter(shown, { phase: 'recording', end: { ...end, because: why }, covered: state.covered, endedAt: at });
}

const ofEnd = ({ end, covered, endedAt }: In<'recording'>) => ({ end, covered, endedAt });
const inShort = ({ end }: In<'recording'>) => ({ because: `${end.outcome}: ${end.because}`, waitingFor: 'nothing' });
