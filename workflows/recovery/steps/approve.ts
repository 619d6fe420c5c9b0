/** A person is asked before a stop, and may refuse it. */

import { formatDuration } from '../../../contract/settings/duration.ts';
import type { Approval } from '../../../contract/recovery/plan.ts';
import { questionOf } from '../questions.ts';
import { planOf, type Step } from './step.ts';

export const approve: Step<'approve', null, never> = {
  name: 'approve',
  first: null,
  next: (data) => data,
  appliesTo: (decision) => planOf(decision) !== undefined,

  async before(preparing) {
    const { plan, decision } = preparing;
    // A denial counts even if something has changed since.
    const refused = preparing.refused();
    if (refused) return refused;
    if (plan?.approval) return preparing.ask('stop', { ...plan.approval, at: decision.at });
    preparing.changeIncident({ kind: 'questionDropped', name: 'stop' });
    return 'ready';
  },

  wouldDo: ({ approval }) => approval && { what: 'would ask', because: approval.because },
  planned({ before, after }) {
    const asked = questionOf(after.incident.questions, 'stop');
    if (!asked || questionOf(before.incident.questions, 'stop')) return undefined;
    return { what: withoutAnswer(asked.approval), because: asked.approval.because };
  },
};

export const withoutAnswer = ({ withinMs, otherwise }: Pick<Approval, 'withinMs' | 'otherwise'>): string =>
  `a person has ${formatDuration(withinMs)}; without an answer: ${otherwise}`;
