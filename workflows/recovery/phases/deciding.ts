import { faultSentence } from '../../../contract/faults/sentence.ts';
import { recoveryRequested } from '../../../contract/faults/faults.ts';
import type { RecoveryDecision, RecoveryFacts } from '../../../contract/recovery/recovery.ts';
import { jobTitle } from '../../../contract/job/jobs.ts';
import type { Effect, EventForPeople, Recovery } from '../effects.ts';
import { heldFor } from '../holds.ts';
import { handledFaults, nodesIn, podsIn, stoppedBy, unhandled } from '../incident.ts';

/** Looks at the job, its pods and nodes, and decides. Only what was known when the look began can be handled by the decision. */
export const deciding: Effect<'deciding'> = async (recovery) => {
  const { tools } = recovery;
  const looking = recovery.dispatch({ kind: 'lookStarted' });
  const { job, limits, askedBy } = looking.input;
  const [fresh, nodes, pods] = [unhandled(looking), nodesIn(looking), podsIn(looking)];
  const facts = await tools.perform('observeAttempt', `look at ${jobTitle(job)}, its pods and nodes`, {
    job,
    nodes,
    ...(pods.length > 0 && { pods }),
  });
  const state = recovery.dispatch({ kind: 'attemptObserved', job: facts.job });
  const heldMs = heldFor(state.holds, 'held', tools.now());
  // What arrived meanwhile is seen here, and a node that was not looked at must not be taken for one that is gone.
  if (nodesIn(state).length > nodes.length) return { kind: 'lookOutdated' };
  const paused = facts.paused ?? state.paused;
  const request: RecoveryFacts = {
    attempt: { ...facts, ...(paused && { paused }) },
    fresh,
    handled: handledFaults(state),
    stops: state.stops.length,
    ...stoppedBy(state),
    attempts: limits.attempts,
    asked: askedBy !== undefined,
    now: tools.now(),
    ...(state.tried.length > 0 && { tried: state.tried }),
    ...(heldMs !== undefined && { heldMs }),
  };
  const decision = await tools.decideRecovery(request);
  if (state.decisions.length === 0) announceStart(recovery, decision);
  const covers = { revision: looking.revision, faults: fresh.map(({ id }) => id) };
  return { kind: 'decided', decision, facts, covers, isPaused: paused !== undefined };
};

/** Reports the faults, and a recovery only when one begins. */
function announceStart({ state, announceAll }: Recovery, { kind, because }: RecoveryDecision): void {
  const seen = state.faults.filter(({ code }) => code !== recoveryRequested).slice(0, 5);
  const events: EventForPeople[] = seen.map((fault) => ({
    type: 'Warning',
    reason: 'faultObserved',
    message: faultSentence(fault),
    key: fault.id,
  }));
  if (kind !== 'end')
    events.push({ type: 'Normal', reason: 'recoveryStarted', message: `${because}: ${state.input.incident}` });
  announceAll(events);
}
