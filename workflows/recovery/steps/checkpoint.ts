/** What is saved before an attempt is stopped, or because it is stopped. */

import { formatDuration, iso } from '../../../contract/settings/duration.ts';
import type { CheckpointPlan, CheckpointResult, RecoveryPlan } from '../../../contract/recovery/plan.ts';
import { attemptOf } from '../incident.ts';
import { type Line, planOf, type Prepared, type Preparing, type Step, type Visit } from './step.ts';

/** A job that was left alone for longer than this has saved since. ms */
const longMs = 60_000;

export interface CheckpointData {
  readonly seen: readonly (CheckpointResult & { readonly attempt: number })[];
  /** One of this attempt was seen, or missed. */
  readonly isSaved: boolean;
  /** Of the wait for one of this attempt, ms. */
  readonly deadline?: number | undefined;
  /** What is awaited is in the timeline, for this attempt. */
  readonly isNoted: boolean;
}

export type CheckpointChange =
  | { readonly kind: 'noted' }
  | { readonly kind: 'awaited'; readonly until: number }
  | { readonly kind: 'seen'; readonly attempt: number; readonly result: CheckpointResult; readonly isStopped: boolean };

export const checkpoint: Step<'checkpoint', CheckpointData, CheckpointChange> = {
  name: 'checkpoint',
  first: { seen: [], isSaved: false, isNoted: false },
  next(data, change) {
    switch (change.kind) {
      case 'noted':
        return { ...data, isNoted: true };
      case 'awaited':
        return { ...data, deadline: change.until };
      case 'seen':
        return {
          ...data,
          seen: [...data.seen, { ...change.result, attempt: change.attempt }],
          isSaved: !change.isStopped,
        };
      case 'attemptStopped':
        return { ...forgotten(data), isNoted: false };
      case 'trainedOn':
        return forgotten(data);
      case 'heldFor':
        return change.ms > longMs ? forgotten(data) : data;
      case 'waited':
        return data;
    }
  },
  appliesTo: (decision) => planOf(decision) !== undefined,

  async before(preparing) {
    const { plan, own } = preparing;
    if (!plan) return 'ready';
    if (plan.checkpoint.strategy === 'fresh') return awaitNext(preparing, plan.checkpoint);
    if (own.isNoted) return 'ready';
    preparing.change({ kind: 'noted' });
    preparing.happened('no checkpoint awaited', plan.checkpoint.because);
    return 'ready';
  },
  between: awaitFinal,

  record: ({ seen }) => (seen.length > 0 ? { checkpoints: seen } : {}),
  wouldDo: ({ checkpoint: { strategy, because } }) => ({
    what: strategy === 'none' ? 'would await no checkpoint' : `would await a checkpoint (${strategy})`,
    because,
  }),
  planned,
};

/** The job has trained for long since: the next checkpoint counts. */
const forgotten = (data: CheckpointData): CheckpointData => ({ ...data, isSaved: false, deadline: undefined });

/** The deadline of the wait, ms: it may move earlier, never later. `over`: one was seen or missed before, or the stop waits for something else. */
export const checkpointUntil = (
  { isSaved, deadline }: CheckpointData,
  until: number,
  isWaiting: boolean,
): number | 'over' => (isSaved || isWaiting ? 'over' : Math.min(until, deadline ?? Infinity));

type Wait = Preparing<CheckpointData, CheckpointChange>;

/** The job trains on until its next checkpoint where that is expected to cost less; a new fault leads to a new decision. */
async function awaitNext(
  preparing: Wait,
  { because, beyond, withinMs, stallMs }: Extract<CheckpointPlan, { strategy: 'fresh' }>,
): Promise<Prepared> {
  const { tools, incident, own } = preparing;
  const until = checkpointUntil(own, tools.now() + withinMs, preparing.isWaiting());
  if (until === 'over') return 'ready';
  preparing.change({ kind: 'awaited', until });
  if (!own.isNoted) {
    preparing.change({ kind: 'noted' });
    preparing.happened('waiting for a checkpoint', because);
    preparing.announce('Normal', 'checkpointAwaited', `${because}; until ${iso(until)}`);
  }
  preparing.show('waiting for a checkpoint', { because, waitingFor: `a checkpoint beyond step ${beyond}`, until });
  const startedAt = tools.now();
  const { incident: id, job } = incident.input;
  const request = { incident: id, job, atLeast: beyond + 1, withinMs: Math.max(1, until - startedAt), stallMs };
  const seen = await tools.unlessChanged(preparing.hasChanged, () =>
    tools.tolerate(
      tools.perform('awaitCheckpoint', `wait for a checkpoint beyond step ${beyond}: ${because}`, request),
    ),
  );
  preparing.changeIncident({ kind: 'waited', ms: tools.now() - startedAt });
  if (seen === 'changed') return 'look again';
  preparing.change({ kind: 'seen', attempt: attemptOf(incident), result: seen ?? unobserved, isStopped: false });
  preparing.happened(seen?.kind === 'saved' ? 'checkpoint saved' : 'no checkpoint', (seen ?? unobserved).because);
  return 'look again';
}

/** Between the stop and the next attempt: the trainer has received SIGTERM, and its node reports what it saved a little later. */
async function awaitFinal(preparing: Wait, { checkpoint: plan }: RecoveryPlan): Promise<void> {
  if (plan.strategy !== 'on-termination') return;
  const { tools, incident } = preparing;
  const { atLeast, withinMs, because } = plan;
  preparing.show('waiting for a checkpoint', {
    because,
    waitingFor: `a checkpoint of step ${atLeast}`,
    until: tools.now() + withinMs,
  });
  const { incident: id, job } = incident.input;
  const request = { incident: id, job, atLeast, withinMs };
  const seen = await tools.tolerate(
    tools.perform('awaitCheckpoint', `wait for the checkpoint of step ${atLeast}`, request),
  );
  preparing.change({ kind: 'seen', attempt: incident.stops.length, result: seen ?? unobserved, isStopped: true });
  preparing.happened(
    seen?.kind === 'saved' ? 'checkpoint acknowledged' : 'no checkpoint acknowledged',
    (seen ?? unobserved).because,
  );
}

const unobserved: CheckpointResult = { kind: 'missed', waitedMs: 0, because: 'it could not be observed' };

function planned({ decision, before, after }: Visit<CheckpointData>): Line | undefined {
  const plan = planOf(decision)?.checkpoint;
  if (!plan) return undefined;
  const { strategy, because } = plan;
  if (strategy === 'on-termination' && after.own.seen.length > before.own.seen.length)
    return { what: `one of step ${plan.atLeast} within ${formatDuration(plan.withinMs)} after the stop`, because };
  if (before.own.isNoted || !after.own.isNoted) return undefined;
  return strategy === 'fresh'
    ? { what: `one beyond step ${plan.beyond}, ${formatDuration(plan.withinMs)} at most`, because }
    : { what: `none is awaited${strategy === 'none' ? '' : ' before the stop'}`, because };
}
