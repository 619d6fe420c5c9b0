/** Carries out one stop that was decided and prepared. */

import type { StopRequest } from '../../../contract/recovery/recovery.ts';
import type { Effect } from '../effects.ts';
import type { In, Stopping } from '../state.ts';
import { wholeAttempt } from '../whole-attempt.ts';

/** Minimum time for a deletion by force, however late it was decided. */
const leastStopMs = 60_000;

/** Two rounds at least: the first records what is to be stopped, and each later one sends it, or deletes by force what is left. */
export const stopping: Effect<'stopping'> = async (recovery, state) => {
  const { tools } = recovery;
  const { stop, input, facts } = state;
  if (!stop) {
    const whole = await wholeAttempt(tools, input.job, facts);
    // The next look waits until the cluster can be observed.
    if (whole === 'not seen') return { kind: 'lookOutdated' };
    return whole === 'others run' ? { kind: 'othersFound' } : { kind: 'stopStarted', facts: whole };
  }
  const result = await tools.perform('stopAttempt', stop.summary, requestOf(state, stop, tools.now()));
  if (result.kind === 'unsent')
    recovery.announce('Warning', 'stopNotSent', `attempt ${stop.attempt} is not stopped yet: ${result.because}`);
  return { kind: 'stopAnswered', result };
};

function requestOf(
  { input, decision, facts, forcing }: In<'stopping'>,
  { attempt, by, pods, terminating, until, rounds, immediate }: Stopping,
  now: number,
): StopRequest {
  const { incident, job, limits, askedBy } = input;
  const isForced = decision.plan?.force === true;
  return {
    incident,
    attempt,
    job,
    by,
    resourceVersion: facts.job?.resourceVersion ?? '',
    pods,
    terminating,
    because: decision.because,
    deadlineMs: rounds === 0 ? limits.stopMs : Math.max(leastStopMs, until - now),
    ...((isForced || immediate) && { immediate: true }),
    ...(immediate && !isForced && { overdue: true }),
    ...(rounds > 0 && { force: forcing }),
    ...(askedBy !== undefined && attempt === 1 && { asked: true }),
  };
}
