/** What is saved before an attempt is stopped, or because it is stopped. */

import type { RecoveryPlan } from '../../contract/recovery-plan.ts';
import { iso } from '../attributes.ts';
import { unlessChanged } from './unless-changed.ts';
import type { Preparing, PreparationStep } from './preparing.ts';
import { announce, perform, tolerate } from '../proxies.ts';

/** The job trains on until its next checkpoint where that is expected to cost less; a new fault leads to a new decision. */
export const saveFirst: PreparationStep = async ({ input, state, timeline, event, hasChanged }, { checkpoint }) => {
  if (checkpoint.strategy !== 'fresh') {
    if (state.isFirst('checkpoint')) timeline.happened('no checkpoint awaited', checkpoint.because);
    return 'ready';
  }
  const { because, beyond, withinMs, stallMs } = checkpoint;
  const until = state.checkpointUntil(Date.now() + withinMs);
  if (until === 'over') return 'ready';
  if (state.isFirst('checkpoint')) {
    timeline.happened('waiting for a checkpoint', because);
    void announce(event('Normal', 'checkpointAwaited', `${because}; until ${iso(until)}`));
  }
  timeline.now('waiting for a checkpoint', { because, waitingFor: `a checkpoint beyond step ${beyond}`, until });
  const { incident, job } = input;
  const left = Math.max(1, until - Date.now());
  const request = { incident, job, atLeast: beyond + 1, withinMs: left, stallMs };
  const startedAt = Date.now();
  const seen = await unlessChanged(hasChanged, () => tolerate(perform('awaitCheckpoint', `wait for a checkpoint beyond step ${beyond}: ${because}`, request)));
  state.capacity.putOff(Date.now() - startedAt);
  if (seen === 'changed') return 'look again';
  state.checkpointSeen(state.stops.length + 1, seen ?? { kind: 'missed', waitedMs: 0, because: 'it could not be observed' });
  timeline.happened(seen?.kind === 'saved' ? 'checkpoint saved' : 'no checkpoint', seen?.because ?? 'it could not be observed');
  return 'look again';
};

/** Between the stop and the next attempt: the trainer was told to end, and its node reports what it saved a little later. */
export async function awaitFinalCheckpoint({ input: { incident, job }, state, timeline }: Preparing, { checkpoint }: RecoveryPlan): Promise<void> {
  if (checkpoint.strategy !== 'on-termination') return;
  const { atLeast, withinMs } = checkpoint;
  timeline.now('waiting for a checkpoint', { because: checkpoint.because, waitingFor: `a checkpoint of step ${atLeast}`, until: Date.now() + withinMs });
  const seen = await tolerate(perform('awaitCheckpoint', `wait for the checkpoint of step ${atLeast}`, { incident, job, atLeast, withinMs }));
  state.checkpointSeen(state.stops.length, seen ?? { kind: 'missed', waitedMs: 0, because: 'it could not be observed' });
  timeline.happened(seen?.kind === 'saved' ? 'checkpoint acknowledged' : 'no checkpoint acknowledged', seen?.because ?? 'it could not be observed');
}
