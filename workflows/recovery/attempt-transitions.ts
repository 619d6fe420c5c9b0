/** What follows a stop: a whole new attempt runs and, where the job reports progress, training moves on. A new fault comes before both. Pure. */

import { trainingHangs } from '../../contract/faults/faults.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { EventOf } from './events.ts';
import { noted, showing, unhandled } from './incident.ts';
import { decideAgain, enter, enterEnding, type In, type RecoveryState, type Running } from './state.ts';

export function enterStarting(state: RecoveryState, at: number): RecoveryState {
  const because = state.stops.length > 0 ? 'the old attempt is gone' : '';
  const until = at + restartMs(state);
  return enter(showing(state, at, 'restarting', { because, waitingFor: 'all new pods ready', until }), {
    phase: 'starting',
  });
}

/** The deadline of the first wait for the next attempt, ms. */
export const restartMs = ({ level, input: { limits } }: RecoveryState): number => level?.withinMs ?? limits.restartMs;

/** A fault that arrives before the end is handled in this incident. */
export const hasNewFaults = (state: RecoveryState): boolean => unhandled(state).length > 0;

/** Waits for the new attempt: first with the usual deadline, then for capacity, and then for proof of progress. */
export function attemptAwaited(
  state: In<'starting'> | In<'placing'>,
  { result, at }: EventOf<'attemptAwaited'>,
): RecoveryState {
  if (result === 'changed') return decideAgain(state);
  switch (result.kind) {
    case 'ended':
      return enterEnding(state, { outcome: result.outcome, because: result.because });
    case 'overdue':
      if (state.phase === 'placing')
        return enterEnding(state, { outcome: 'escalated', because: `not running: ${result.because}` });
      if (state.level) return nextLevel(state, `the broken pods alone do not run again: ${result.because}`, at);
      return enterPlacing(state, result.because, at);
    case 'running':
      return hasNewFaults(state) ? decideAgain(state) : prove(state, result, at);
  }
}

function enterPlacing(state: RecoveryState, because: string, at: number): RecoveryState {
  const waitingFor = 'capacity for all pods; nothing is deleted again';
  const until = at + state.input.limits.placementMs;
  const shown = showing(noted(state, at, 'waiting for placement', because), at, 'waiting for placement', {
    because,
    waitingFor,
    until,
  });
  return enter(shown, { phase: 'placing', because });
}

/** Restarting a part of the job did not help. */
function nextLevel(state: RecoveryState, because: string, at: number): RecoveryState {
  return decideAgain(
    noted({ ...state, tried: [...state.tried, { level: 'pod', because }] }, at, 'the whole job next', because),
  );
}

/** The job had reported a phase other than training. */
const isResting = ({ phase = 'training' }: JobProgress): boolean => phase !== 'training';

/** A job that never reported progress cannot be verified, and its recovery says so. */
function prove(state: RecoveryState, running: Running, at: number): RecoveryState {
  const cause = state.decisions.find(({ kind }) => kind === 'stop')?.because ?? 'no stop was needed';
  const stops = state.stops.length === 1 ? '1 stop' : `${state.stops.length} stops`;
  const runs = `${cause}; all ${running.of ?? running.pods.length} pods run again after ${stops}`;
  const { before } = state.progress;
  const { verify } = state.input.limits;
  if (before === undefined || verify === undefined)
    return enterEnding(state, {
      outcome: 'restarted',
      because: `${runs}, training is not verified`,
      ...present(running),
    });

  // A job that stopped reporting long before the fault does not begin again with the next attempt.
  const rested = isResting(before) || state.faults.some(({ code }) => code === trainingHangs);
  if (!rested && Date.parse(before.at) < state.startedAt - verify.firstMs) {
    const because = `${runs}, training is not verified: its progress was last reported at ${before.at}`;
    return enterEnding(state, { outcome: 'restarted', because, ...present(running) });
  }
  const shown = showing(noted(state, at, 'all pods run', runs), at, 'verifying', {
    because: `${runs}; step ${before.step} was the last before the fault`,
    waitingFor: `a step beyond ${before.step}`,
    until: at + verify.mostMs,
  });
  return enter(shown, { phase: 'verifying', running, runs, beyond: before.step });
}

const present = ({ pods, of, startedAt }: Running) => ({
  pods,
  ...(of !== undefined && { podsOf: of }),
  attemptStartedAt: startedAt,
});

export function progressAwaited(
  before: In<'verifying'>,
  { result: proof, at }: EventOf<'progressAwaited'>,
): RecoveryState {
  const { running, runs, level } = before;
  const there = present(running);
  // The new fault gets its own incident, with its own budget and pauses: this one has done its work.
  if (proof === 'changed')
    return enterEnding(before, {
      outcome: 'restarted',
      because: `${runs}, and met a new fault before training was verified`,
      ...there,
    });
  if (proof.kind === 'ended') return enterEnding(before, { ...there, outcome: proof.outcome, because: proof.because });
  const { before: earlier } = before.progress;
  const state = {
    ...before,
    progress: { ...(earlier && { before: earlier }), ...(proof.progress && { after: proof.progress }) },
  };
  if (proof.kind === 'verified')
    return enterEnding(state, {
      outcome: 'recovered',
      because: `${runs}; training moves on: ${proof.because}`,
      ...there,
    });
  if (proof.moves)
    return enterEnding(state, {
      outcome: 'restarted',
      because: `${runs}; training moves, but has not caught up yet: ${proof.because}`,
      ...there,
    });
  if (level) return nextLevel(state, `the broken pods run again, but training does not move on: ${proof.because}`, at);
  return enterEnding(state, {
    outcome: 'escalated',
    because: `${runs}, but training does not move on: ${proof.because}`,
    ...there,
  });
}
