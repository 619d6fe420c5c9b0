/** The gentlest level: the processes of the job are asked to restart training by themselves, and nothing is stopped. */

import { restartId } from '../../../contract/progress/restart.ts';
import { formatDuration, iso } from '../../../contract/settings/duration.ts';
import { attemptOf } from '../incident.ts';
import type { Step } from './step.ts';

export const inProcess: Step<'in-process', null, never> = {
  name: 'in-process',
  first: null,
  next: (data) => data,
  appliesTo: (decision) => decision.kind === 'hold' && decision.inProcess !== undefined,

  /** Where it did not help, or something changed, the next level is tried. */
  async before(preparing) {
    const { decision, incident, tools } = preparing;
    if (decision.kind !== 'hold' || !decision.inProcess) return 'ready';
    const { because, at } = decision;
    const { beyond, withinMs } = decision.inProcess;
    const { incident: id, job } = incident.input;
    preparing.happened('asked the processes', because);
    preparing.show('verifying', { because, waitingFor: `a step beyond ${beyond}`, until: at + withinMs });
    // It counts against the budget as a stop does.
    preparing.changeIncident({ kind: 'processesAsked' });
    const attempt = attemptOf(incident);
    const asked = { incident: id, job, attempt, reason: because, askedAt: iso(at), deadline: iso(at + withinMs) };
    await tools.tolerate(tools.perform('askProcesses', 'ask the processes to go on by themselves', asked));
    const request = {
      incident: id,
      job,
      since: iso(at),
      beyond,
      firstMs: withinMs,
      stallMs: withinMs,
      mostMs: withinMs,
      asked: restartId(id, attempt),
    };
    const proof = await tools.unlessChanged(preparing.hasNewFaults, () =>
      tools.tolerate(tools.perform('verifyProgress', `wait until training passes step ${beyond} by itself`, request)),
    );
    const answers = proof === 'changed' || proof?.kind === 'ended' ? undefined : proof?.answers;
    if (answers !== undefined) preparing.happened('the processes answered', answers);
    if (proof !== 'changed' && (proof?.kind === 'verified' || (proof?.kind === 'unverified' && proof.moves))) {
      if (proof.progress) preparing.changeIncident({ kind: 'progressSeen', progress: proof.progress });
      return proof.kind === 'verified'
        ? { outcome: 'recovered', because: `its processes went on by themselves: ${proof.because}` }
        : {
            outcome: 'restarted',
            because: `its processes went on by themselves, but have not caught up yet: ${proof.because}`,
          };
    }
    const why =
      proof === 'changed'
        ? 'a new fault came'
        : [proof?.because ?? 'progress could not be observed', ...(answers === undefined ? [] : [answers])].join('; ');
    preparing.changeIncident({
      kind: 'levelTried',
      tried: { level: 'process', because: `its processes did not go on by themselves: ${why}` },
    });
    preparing.happened('the next level', why);
    return 'look again';
  },

  planned({ decision }) {
    if (decision.kind !== 'hold' || !decision.inProcess) return undefined;
    const { beyond, withinMs } = decision.inProcess;
    const what = `training inside its processes; a step beyond ${beyond} within ${formatDuration(withinMs)}`;
    return { what, because: decision.because };
  },
};
