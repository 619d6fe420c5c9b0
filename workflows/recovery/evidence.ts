import { counted } from './incident-state.ts';
import type { Preparing, PreparationStep } from './preparing.ts';
import { perform, tolerate } from '../proxies.ts';

export const captureEvidence: PreparationStep = async (preparing) => {
  await keepEvidence(preparing);
  return 'ready';
};

/** Once for each attempt, before anything of it is deleted: false when it was captured before, or is not wanted. */
export async function keepEvidence({ input: { incident, job, limits }, state, timeline, facts }: Preparing): Promise<boolean> {
  const attempt = state.stops.length + 1;
  const deadlineMs = limits.evidenceMs ?? 0;
  if (deadlineMs === 0 || !state.isFirst('evidence')) return false;
  timeline.now('capturing evidence', { because: `${counted(facts)} are about to be stopped`, waitingFor: 'their logs', until: Date.now() + deadlineMs });
  const kernel = state.kernelLines();
  const request = {
    incident,
    attempt,
    job,
    pods: state.failingFirst(facts),
    ...(facts.more && { others: true as const }),
    nodes: state.nodes(),
    ...(kernel.length > 0 && { kernel }),
    deadlineMs,
  };
  const kept = await tolerate(perform('captureEvidence', `keep the evidence of attempt ${attempt}`, request));
  if (kept) state.evidence.push(kept);
  timeline.happened(
    'evidence kept',
    kept ? `${kept.ranks} of ${kept.of} ranks, ${kept.bytes} bytes in ${kept.address}${kept.because ? `: ${kept.because}` : ''}` : 'none: it could not be kept',
  );
  return true;
}
