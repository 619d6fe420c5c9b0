import type { Effect } from '../effects.ts';
import { resume } from '../resume.ts';
import { stepContext } from '../step-context.ts';
import { steps } from '../steps/index.ts';

/** Changes the job while nothing of it runs, which a suspend allows, and lets the next attempt be created. */
export const betweenAttempts: Effect<'between-attempts'> = async (recovery, state) => {
  const { plan } = state.decision;
  if (plan && state.stops.at(-1)?.by === 'suspend') {
    for (const { name, between } of steps) await between?.(stepContext(recovery, name, state), plan);
  }
  await resume(recovery);
  recovery.announce(state.isProvenDead ? 'Normal' : 'Warning', 'attemptStopped', state.summary);
  return { kind: 'attemptReleased' };
};
