import type { AwaitResult } from '../../../contract/recovery/recovery.ts';
import { hasNewFaults, restartMs } from '../attempt-transitions.ts';
import type { Effect, Recovery } from '../effects.ts';
import { stoppedBy } from '../incident.ts';

/** Waits for a whole new attempt, with the usual deadline. */
export const starting: Effect<'starting'> = async (recovery, state) => ({
  kind: 'attemptAwaited',
  result: await awaitAttempt(recovery, restartMs(state)),
});

/** Waits for it once more: capacity may come late, and nothing is deleted again. */
export const placing: Effect<'placing'> = async (recovery, { because, input }) => {
  recovery.announce('Warning', 'waitingForPlacement', because);
  return { kind: 'attemptAwaited', result: await awaitAttempt(recovery, input.limits.placementMs) };
};

function awaitAttempt(recovery: Recovery, deadlineMs: number): Promise<AwaitResult | 'changed'> {
  const { tools } = recovery;
  const { input, stoppedPods, remaining } = recovery.state;
  const { incident, job } = input;
  const request = {
    incident,
    job,
    old: stoppedPods,
    ...stoppedBy(recovery.state),
    ...(remaining.length > 0 && { remaining }),
    deadlineMs,
  };
  return tools.unlessChanged(
    () => hasNewFaults(recovery.state),
    () => tools.perform('awaitAttempt', 'wait until all pods of the next attempt are ready', request),
  );
}
