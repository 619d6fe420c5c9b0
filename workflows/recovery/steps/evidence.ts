/** Evidence of an attempt is captured before anything of it is deleted, once for each attempt. */

import { formatDuration } from '../../../contract/settings/duration.ts';
import type { Evidence, Suspect } from '../../../contract/recovery/evidence.ts';
import { attemptOf, counted, failingFirst, kernelLines, nodesIn } from '../incident.ts';
import type { Preparing, Step } from './step.ts';

interface EvidenceData {
  readonly kept: readonly Evidence[];
  /** It was captured for this attempt, or could not be. */
  readonly isDone: boolean;
}

type EvidenceChange = { readonly kind: 'started' } | { readonly kind: 'kept'; readonly evidence: Evidence };

export const evidence: Step<'evidence', EvidenceData, EvidenceChange> = {
  name: 'evidence',
  first: { kept: [], isDone: false },
  next(data, change) {
    switch (change.kind) {
      case 'started':
        return { ...data, isDone: true };
      case 'kept':
        return { ...data, kept: [...data.kept, change.evidence] };
      case 'attemptStopped':
        return { ...data, isDone: false };
      default:
        return data;
    }
  },
  appliesTo: ({ kind }) => kind === 'stop',

  async before(preparing) {
    const { own, plan, incident } = preparing;
    const deadlineMs = incident.input.limits.evidenceMs ?? 0;
    if (deadlineMs === 0 || own.isDone) return 'ready';
    await capture(preparing, deadlineMs);
    return plan ? 'ready' : 'look again';
  },

  doneAt: ({ kept }) => kept.at(-1)?.at,
  record: ({ kept }) => (kept.length > 0 ? { evidence: kept } : {}),
  planned({ facts, before, after }) {
    if (before.own.isDone || !after.own.isDone) return undefined;
    const within = formatDuration(after.incident.input.limits.evidenceMs ?? 0);
    return { what: `logs and states of ${counted(facts)}, ${within} at most`, because: 'a stop deletes them' };
  },
};

async function capture(
  { incident, facts, tools, ...preparing }: Preparing<EvidenceData, EvidenceChange>,
  deadlineMs: number,
): Promise<void> {
  const attempt = attemptOf(incident);
  preparing.change({ kind: 'started' });
  preparing.show('capturing evidence', {
    because: `${counted(facts)} are about to be stopped`,
    waitingFor: 'their logs',
    until: tools.now() + deadlineMs,
  });
  const kernel = kernelLines(incident);
  const request = {
    incident: incident.input.incident,
    attempt,
    job: incident.input.job,
    pods: failingFirst(incident, facts),
    ...(facts.more && { others: true as const }),
    nodes: nodesIn(incident),
    ...(kernel.length > 0 && { kernel }),
    deadlineMs,
  };
  const kept = await tools.tolerate(
    tools.perform('captureEvidence', `keep the evidence of attempt ${attempt}`, request),
  );
  if (kept) preparing.change({ kind: 'kept', evidence: kept });
  preparing.happened(
    'evidence kept',
    kept
      ? `${kept.ranks} of ${kept.of} ranks, ${kept.bytes} bytes in ${kept.address}${kept.because ? `: ${kept.because}` : ''}`
      : 'none: it could not be kept',
  );
  if (kept?.suspects?.length) announceSuspects(preparing, attempt, kept.suspects);
}

/** For people only: what logs say convicts no node. */
function announceSuspects(
  { happened, announce }: Pick<Preparing<EvidenceData, EvidenceChange>, 'happened' | 'announce'>,
  attempt: number,
  suspects: readonly Suspect[],
): void {
  const sentences = suspects.map(
    ({ pod, node, because }) => `${pod}${node === undefined ? '' : ` on ${node}`}: ${because}`,
  );
  happened('ranks suspected', sentences.join('; ').slice(0, suspectsLength));
  announce(
    'Warning',
    'ranksSuspected',
    `the logs of attempt ${attempt} make these suspects, which convicts no node: ${sentences.join('; ')}`.slice(
      0,
      suspectsLength,
    ),
  );
}

/** Bound of one message; the record has all of them. */
const suspectsLength = 1000;
