/** The gentlest level: the processes of the job are asked to restart training by themselves, and nothing is stopped. */

import type { RecoveryDecision } from '../../contract/recovery.ts';
import { iso } from '../attributes.ts';
import { unlessChanged } from './unless-changed.ts';
import type { End } from './next-attempt.ts';
import type { Preparing } from './preparing.ts';
import { perform, tolerate } from '../proxies.ts';

type HoldDecision = Extract<RecoveryDecision, { kind: 'hold' }>;

/** Undefined when it did not help, or something changed: the next level is tried then. */
export async function tryInProcess(
  { input, state, timeline, hasChanged }: Pick<Preparing, 'input' | 'state' | 'timeline' | 'hasChanged'>,
  decision: HoldDecision,
): Promise<End | undefined> {
  const { incident, job } = input;
  const { inProcess, because, at } = decision;
  if (!inProcess) return undefined;
  const { beyond, withinMs } = inProcess;
  timeline.happened('asked the processes', because);
  timeline.now('verifying', { because, waitingFor: `a step beyond ${beyond}`, until: at + withinMs });
  // It counts against the budget as a stop does.
  state.stopsStarted += 1;
  await tolerate(perform('askProcesses', 'ask the processes to go on by themselves', { incident, job, attempt: state.stops.length + 1 }));
  const request = { incident, job, since: iso(at), beyond, firstMs: withinMs, stallMs: withinMs, mostMs: withinMs };
  const proof = await unlessChanged(hasChanged, () => tolerate(perform('verifyProgress', `wait until training passes step ${beyond} by itself`, request)));
  if (proof !== 'changed' && proof?.kind === 'verified') {
    state.progress = { ...state.progress, after: proof.progress };
    return { outcome: 'recovered', because: `its processes went on by themselves: ${proof.because}` };
  }
  if (proof !== 'changed' && proof?.kind === 'unverified' && proof.moves) {
    state.progress = { ...state.progress, ...(proof.progress ? { after: proof.progress } : {}) };
    return { outcome: 'restarted', because: `its processes went on by themselves, but have not caught up yet: ${proof.because}` };
  }
  const why = proof === 'changed' ? 'a new fault came' : (proof?.because ?? 'progress could not be observed');
  state.tried.push({ level: 'process', because: `its processes did not go on by themselves: ${why}` });
  timeline.happened('the next level', why);
  return undefined;
}
