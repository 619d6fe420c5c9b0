/** Where several nodes have one cause, many jobs restart: this one waits for its wave, and trains on meanwhile where it can. */

import { podCount } from '../../../contract/recovery/recovery.ts';
import { formatDuration } from '../../../contract/settings/duration.ts';
import { planOf, type CommonChange, type Step } from './step.ts';

/** `since`: when it first asked, ms. `begins`: it may, or has waited long enough. */
interface WaveData {
  readonly since?: number;
  readonly begins?: true;
}

type WaveChange = { readonly kind: 'asked'; readonly at: number } | { readonly kind: 'begins' };

export const wave: Step<'wave', WaveData, WaveChange> = {
  name: 'wave',
  first: {},
  next,
  appliesTo: (decision) => planOf(decision)?.wave !== undefined,

  async before(preparing) {
    const { plan, decision, facts, tools } = preparing;
    if (!plan?.wave || preparing.own.begins) return 'ready';
    const { rule, withinMs, because } = plan.wave;
    const isFirst = preparing.own.since === undefined;
    preparing.change({ kind: 'asked', at: tools.now() });
    const until = (preparing.own.since ?? tools.now()) + withinMs;
    const [first] = facts.pods;
    const answer = await tools.tolerate(
      tools.perform('joinWave', `ask for a wave: ${because}`, {
        incident: preparing.incident.input.incident,
        job: preparing.incident.input.job,
        ...(first && { pod: first.name }),
        pods: plan.level.name === 'pod' ? plan.level.pods.length : podCount(facts),
        rule,
      }),
    );
    const isLate = tools.now() >= until;
    if (!answer || answer.granted || isLate) {
      preparing.change({ kind: 'begins' });
      preparing.happened(...(answer?.granted ? began(answer.wave, because) : outside(isLate, withinMs)));
      return 'ready';
    }
    if (isFirst) preparing.happened('waits for a wave', answer.because);
    preparing.show('held', { because: `waits for a wave: ${answer.because}`, waitingFor: because, until });
    const begun = tools.now();
    await preparing.pause(Math.max(1, Math.min(answer.lookAgainMs, until - begun)), `its wave: ${decision.because}`);
    preparing.changeIncident({ kind: 'waited', ms: tools.now() - begun });
    return 'look again';
  },

  isWaiting: ({ since, begins }) => since !== undefined && !begins,
  wouldDo: (plan) => plan.wave && { what: 'would wait for a wave', because: plan.wave.because },
  planned: ({ before, after, decision }) =>
    after.own.begins && !before.own.begins
      ? { what: 'one of the waves of recoveries with one cause', because: planOf(decision)?.wave?.because ?? '' }
      : undefined,
};

function next(data: WaveData, change: WaveChange | CommonChange): WaveData {
  switch (change.kind) {
    case 'asked':
      return { ...data, since: data.since ?? change.at };
    case 'begins':
      return { ...data, begins: true };
    // What was held may begin beside others again, and so may the next stop.
    case 'heldFor':
      return change.ms > 0 ? {} : data;
    case 'attemptStopped':
      return {};
    case 'waited':
    case 'trainedOn':
      return data;
  }
}

const began = (wave: number, because: string): [string, string] => [`begins in wave ${wave}`, because];

const outside = (isLate: boolean, withinMs: number): [string, string] => [
  'begins outside of the waves',
  isLate ? `it has waited for ${formatDuration(withinMs)}` : 'the workflow of the cluster does not answer',
];
