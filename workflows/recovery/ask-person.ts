/** A person is asked before a stop, and may refuse it. */

import type { OperatorAnswer } from '../../contract/recovery-plan.ts';
import type { Asking } from './approval.ts';
import type { End } from './next-attempt.ts';
import type { Prepared, Preparing, PreparationStep } from './preparing.ts';
import { announce } from '../proxies.ts';

/** Reports a denial to people, at whichever step it is found. */
export function refusedBy({ timeline, event }: Pick<Preparing, 'timeline' | 'event'>, { by, reason }: OperatorAnswer): End {
  const said = `${by}: ${reason}`;
  timeline.happened('denied', said);
  void announce(event('Warning', 'approvalGiven', `denied by ${said}`));
  return { outcome: 'refused', because: `denied by ${said}` };
}

export const approve: PreparationStep = async (preparing, { approval }) => {
  const { approvals, decision } = preparing;
  // A denial counts even if something has changed since.
  const denied = approvals.denied();
  if (denied) return refusedBy(preparing, denied);
  if (approval) return askPerson(preparing, 'stop', { ...approval, at: decision.at });
  approvals.drop('stop');
  return 'ready';
};

/** Asks once for each `name`; a refusal ends the incident. */
export async function askPerson({ input, state, approvals, timeline, event, hasChanged }: Preparing, name: string, approval: Asking): Promise<Prepared> {
  if (approvals.answerOf(name)?.approved) return 'ready';
  const { because, otherwise } = approval;
  const { id, until, isFirst } = approvals.ask(name, approval);
  const waitingFor = `kcover approve ${input.incident} --question ${id} --reason "...", or kcover deny; silence means ${otherwise}`;
  if (isFirst) {
    timeline.happened('approval asked', because);
    void announce(event('Warning', 'approvalAsked', `${because}; ${waitingFor}`));
  }
  timeline.now('waiting for approval', { because, waitingFor, until });
  const begun = Date.now();
  const answer = await approvals.wait(name, approval, hasChanged);
  state.capacity.putOff(Date.now() - begun);
  if (!answer) return 'look again';
  if (!answer.approved) return refusedBy({ timeline, event }, answer);
  const said = `${answer.by}: ${answer.reason}`;
  timeline.happened('approved', said);
  void announce(event('Normal', 'approvalGiven', `approved by ${said}`));
  return 'look again';
}
