import { clusterWorkflowId } from '../../../contract/ids.ts';
import { signals } from '../../../contract/wire/messages.ts';
import type { Effect } from '../effects.ts';
import { denialOf } from '../questions.ts';
import type { In } from '../state.ts';
import { announceDenial } from '../step-context.ts';
import { pauseAfter } from '../stop-transitions.ts';

/** A workflow that waits for a notification still looks now and then, because notifications can be lost. */
const slowLookMs = 5 * 60_000;

/** Nothing is stopped until something changes, or the deadline of this hold passes. */
export const held: Effect<'held'> = async (recovery, before) => {
  const { tools } = recovery;
  const { decision, covers, reason, input } = before;
  const denial = denialOf(before.questions);
  if (denial) {
    announceDenial(recovery, denial);
    return { kind: 'denied', answer: denial };
  }
  const isFirst = before.holds.since[reason] === undefined;
  const { until = 0, holds, revision, subscribedAt } = recovery.dispatch({ kind: 'holdStarted' }) as In<'held'>;
  if (isFirst) recovery.announce('Warning', 'recoveryHeld', `held: ${decision.because}; ${decision.remedy}`);
  if (isFirst || subscribedAt !== revision) {
    recovery.dispatch({ kind: 'subscribed' });
    await tools.signal(clusterWorkflowId, signals.waiting, { workflowId: input.incident });
    // Registered before one more look, so that a change in between is not missed.
    return { kind: 'lookOutdated' };
  }
  const again = decision.lookAgainMs === undefined ? slowLookMs : pauseAfter(holds.times - 1, decision.lookAgainMs);
  const pause = Math.min(Math.max(1, until - tools.now()), again);
  const hasChanged = () =>
    recovery.state.revision !== covers.revision || denialOf(recovery.state.questions) !== undefined;
  const changed = await tools.wait(hasChanged, pause, `held: ${decision.because}`);
  return { kind: changed || tools.now() < until ? 'lookOutdated' : 'holdExpired' };
};
