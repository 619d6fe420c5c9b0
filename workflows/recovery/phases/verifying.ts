import { hasNewFaults } from '../attempt-transitions.ts';
import type { Effect } from '../effects.ts';
import { stoppedBy } from '../incident.ts';

/** All pods run: training has to pass the last step before the fault. */
export const verifying: Effect<'verifying'> = async (recovery, state) => {
  const { tools } = recovery;
  const { input, running, beyond, level, stoppedPods } = state;
  const { incident, job, limits } = input;
  const request = {
    incident,
    job,
    // Pods that were not stopped kept training: only what they reported since counts.
    since: level ? (running.wholeSince ?? running.startedAt) : running.startedAt,
    beyond,
    stopped: stoppedPods,
    ...stoppedBy(state),
    ...(limits.verify ?? { firstMs: 0, stallMs: 0, mostMs: 0 }),
  };
  const result = await tools.unlessChanged(
    () => hasNewFaults(recovery.state),
    () => tools.perform('verifyProgress', `wait until training passes step ${beyond}`, request),
  );
  return { kind: 'progressAwaited', result };
};
