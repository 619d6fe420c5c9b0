/** The steps before a stop, in order. Each has a deadline, and a branch for when it passes. */

import type { RecoveryPlan } from '../../contract/recovery-plan.ts';
import { approve } from './ask-person.ts';
import { saveFirst } from './checkpoint.ts';
import { captureEvidence, keepEvidence } from './evidence.ts';
import type { Prepared, Preparing, PreparationStep } from './preparing.ts';
import { ensureCapacity } from './capacity.ts';
import type { Timeline } from './timeline.ts';

const steps: readonly PreparationStep[] = [approve, captureEvidence, saveFirst, ensureCapacity];

/** Facts of at most this age still hold: the stop checks again that job and pods are those that it was decided for. ms */
const freshMs = 2000;

/** Runs the steps until one of them wants another look, or the end. Looks again when the facts have grown old meanwhile. */
export async function prepare(preparing: Preparing): Promise<Prepared> {
  const { plan } = preparing.decision;
  if (!plan) return (await keepEvidence(preparing)) ? 'look again' : 'ready';
  if (preparing.state.isFirst('plan')) for (const each of plan.ignored) preparing.timeline.happened('ignored', each);
  for (const step of steps) {
    const prepared = await step(preparing, plan);
    if (prepared !== 'ready') return prepared;
  }
  if (preparing.hasChanged()) return 'look again';
  return doneAt(preparing) - preparing.seenAt > freshMs && preparing.state.looksAgainForAge() ? 'look again' : 'ready';
}

/** When the last step was done, ms, from history: after a local activity the workflow's own clock may differ in replay. */
const doneAt = ({ state, decision }: Preparing): number => Math.max(decision.at, state.evidence.at(-1)?.at ?? 0, state.capacity.decisions.at(-1)?.at ?? 0);

/** Records what would have been done, where nothing may be done. */
export function recordPlan(timeline: Timeline, { level, approval, checkpoint, capacity, ignored }: RecoveryPlan): void {
  if (approval) timeline.happened('would ask', approval.because);
  timeline.happened(checkpoint.strategy === 'none' ? 'would await no checkpoint' : `would await a checkpoint (${checkpoint.strategy})`, checkpoint.because);
  if (capacity) timeline.happened('would look for capacity', `without it: ${capacity.choice}`);
  timeline.happened(`would restart the ${level.name}`, level.because);
  for (const each of ignored) timeline.happened('ignored', each);
}
