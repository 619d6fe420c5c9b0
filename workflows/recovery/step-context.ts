/** What the effects of a step are given: the incident as it is now, ways to change it, and tools. Pure. */

import type { Recovery } from './effects.ts';
import { refusal } from './end.ts';
import { unhandled } from './incident.ts';
import { answerOf, type Asking, denialOf, questionOf } from './questions.ts';
import type { In } from './state.ts';
import { isAnyWaiting, type StepName } from './steps/index.ts';
import { planOf, type Prepared, type Preparing } from './steps/step.ts';
import type { OperatorAnswer } from '../../contract/recovery/plan.ts';

export function stepContext(
  recovery: Recovery,
  step: StepName,
  { decision, facts, covers }: Pick<In<'preparing'>, 'decision' | 'facts' | 'covers'>,
): Preparing<unknown, { readonly kind: string }> {
  const hasChanged = () => recovery.state.revision !== covers.revision;
  return {
    decision,
    plan: planOf(decision),
    facts,
    get incident() {
      return recovery.state;
    },
    get own() {
      return recovery.state.steps[step];
    },
    hasChanged,
    hasNewFaults: () => unhandled(recovery.state).length > covers.faults.length,
    isWaiting: () => isAnyWaiting(recovery.state.steps),
    change: (change) => void recovery.dispatch({ kind: 'stepChanged', step, change }),
    changeIncident: (change) => void recovery.dispatch(change),
    happened: (what, because) => void recovery.dispatch({ kind: 'happened', what, because }),
    show: (phase, words) => void recovery.dispatch({ kind: 'shown', phase, words }),
    announce: recovery.announce,
    ask: (name, approval) => askPerson(recovery, hasChanged, name, approval),
    refused() {
      const denial = denialOf(recovery.state.questions);
      return denial && refusedBy(recovery, denial);
    },
    async pause(ms, summary) {
      await recovery.tools.wait(hasChanged, ms, summary);
    },
    tools: recovery.tools,
  };
}

/** Asks once for each `name`; a denial ends the incident. */
async function askPerson(
  recovery: Recovery,
  hasChanged: () => boolean,
  name: string,
  approval: Asking,
): Promise<Prepared> {
  const { questions: before, input } = recovery.state;
  if (answerOf(before, name)?.approved) return 'ready';
  const { because, otherwise } = approval;
  const question = questionOf(recovery.dispatch({ kind: 'asked', name, approval }).questions, name);
  if (!question) throw new Error(`no question was asked for ${name}`);
  const { id, until } = question;
  const waitingFor = `kcover approve ${input.incident} --question ${id} --reason "...", or kcover deny; without an answer: ${otherwise}`;
  if (!questionOf(before, name)) {
    recovery.dispatch({ kind: 'happened', what: 'approval asked', because });
    recovery.announce('Warning', 'approvalAsked', `${because}; ${waitingFor}`);
  }
  recovery.dispatch({ kind: 'shown', phase: 'waiting for approval', words: { because, waitingFor, until } });
  const { tools } = recovery;
  const begun = tools.now();
  const isAnswered = () => answerOf(recovery.state.questions, name) !== undefined;
  await tools.wait(() => isAnswered() || hasChanged(), Math.max(1, until - begun), `approval: ${because}`);
  const { questions } = recovery.dispatch({ kind: 'answerAwaited', name });
  recovery.dispatch({ kind: 'waited', ms: tools.now() - begun });
  const answer = answerOf(questions, name);
  // Without an answer the question stays open, and may still be answered.
  if (!answer) return 'look again';
  if (!answer.approved) return refusedBy(recovery, answer);
  const who = `${answer.by}: ${answer.reason}`;
  recovery.dispatch({ kind: 'happened', what: 'approved', because: who });
  recovery.announce('Normal', 'approvalGiven', `approved by ${who}`);
  return 'look again';
}

/** Reports a denial to people, at whichever step it is found. */
function refusedBy(recovery: Recovery, answer: OperatorAnswer) {
  recovery.dispatch({ kind: 'happened', what: 'denied', because: `${answer.by}: ${answer.reason}` });
  announceDenial(recovery, answer);
  return refusal(answer);
}

export const announceDenial = ({ announce }: Recovery, answer: OperatorAnswer): void =>
  announce('Warning', 'approvalGiven', refusal(answer).because);
