/** Whether the next attempt finds capacity, and what to do when it does not: nothing is stopped that could not be started again. */

import { condition } from '@temporalio/workflow';
import type { CapacityChoice } from '../../contract/job-overrides.ts';
import type { CapacityDecision, RecoveryPlan, Severity } from '../../contract/recovery-plan.ts';
import { askPerson } from './ask-person.ts';
import type { Prepared, Preparing, PreparationStep } from './preparing.ts';
import { announce, decideCapacity, perform, short, tolerate } from '../proxies.ts';

/** The pause between looks doubles from the decision's value up to this, ms. */
const mostPauseMs = 60_000;

type CapacityHold = Extract<CapacityDecision, { kind: 'hold' }>;

export const ensureCapacity: PreparationStep = async (preparing, plan) => {
  const { state, timeline, approvals } = preparing;
  if (!plan.capacity) state.capacity.nextPods = undefined;
  if (!plan.capacity || state.capacity.isKnown(state.revision())) return 'ready';
  timeline.now('checking capacity', { because: 'all pods of an attempt need capacity at once', waitingFor: 'a look at all nodes and pods' });
  // The look may not cover changes that happen during it, so the revision is taken before.
  const revision = state.revision();
  const decision = await judgeCapacity(preparing, plan);
  if (!decision) return capacityUnknown(preparing, { choice: plan.capacity.choice, severity: plan.severity }, revision);
  if (decision.kind !== 'ask') approvals.drop('capacity');
  const podsFirst = decision.kind !== 'shrink' && plan.level.name === 'job' && state.podsFirstAgain();
  switch (decision.kind) {
    case 'go':
    case 'shrink': {
      const { waited } = state.capacity.isThere(revision, decision.kind === 'shrink' ? decision.pods : undefined);
      timeline.happened(decision.kind === 'go' ? 'capacity' : 'shrinks', decision.because);
      // Whether pods fit beside those that stay is another question: look again.
      if (podsFirst) state.capacity.forget();
      // It trained for long while it waited, so another checkpoint may be worth awaiting.
      if (waited) state.forgetCheckpoint();
      return waited || podsFirst ? 'look again' : 'ready';
    }
    case 'standby':
      return takeStandbyNodes(preparing, decision);
    case 'ask':
      return askPerson(preparing, 'capacity', decision);
    case 'hold':
      return plan.level.name === 'pod' && plan.capacity.choice === 'shrink' ? wholeJobNext(preparing, plan, decision) : waitForCapacity(preparing, decision);
  }
};

/** Capacity could not be observed. The recovery goes on, unless the stop could end training that then cannot start again: there was no capacity before, or the job still trains. */
async function capacityUnknown(
  preparing: Preparing,
  { choice, severity }: { readonly choice: CapacityChoice; readonly severity: Severity },
  revision: number,
): Promise<Prepared> {
  const { state, timeline, approvals, decision } = preparing;
  const asked = approvals.unanswered('capacity');
  if (asked && choice === 'ask') return askPerson(preparing, 'capacity', { ...asked, at: decision.at });
  const isShort = state.capacity.isShort || state.capacity.nextPods !== undefined;
  const mayWait = choice !== 'restart' && approvals.answerOf('capacity')?.approved !== true;
  const wait = (why: string) =>
    waitForCapacity(preparing, { because: `the nodes cannot be observed now, and ${why}`, remedy: 'kcover doctor', lookAgainMs: 5000 });
  if (mayWait && isShort) return wait('there was no capacity before');
  if (mayWait && severity !== 'dead') return wait('the job still trains');
  state.capacity.isUnknown(revision);
  timeline.happened('capacity unknown', 'the nodes could not be observed: the recovery goes on without knowing whether the next attempt finds capacity');
  return 'ready';
}

/** Pods are replaced one for one. Where those find no capacity but a smaller job would, the whole job is stopped. */
async function wholeJobNext(preparing: Preparing, plan: RecoveryPlan, alone: CapacityHold): Promise<Prepared> {
  const { state, timeline } = preparing;
  const whole = await judgeCapacity(preparing, { ...plan, level: { name: 'job', because: alone.because } });
  if (whole?.kind !== 'shrink') return waitForCapacity(preparing, whole?.kind === 'hold' ? whole : alone);
  state.tried.push({ level: 'pod', because: `${alone.because}; ${whole.because}`, noCapacity: true });
  timeline.happened('the whole job next', alone.because);
  return 'look again';
}

/** Undefined when capacity could not be observed. */
async function judgeCapacity({ input: { job }, state, approvals, decision }: Preparing, plan: RecoveryPlan): Promise<CapacityDecision | undefined> {
  const { capacity, level, severity } = plan;
  if (!capacity) return undefined;
  const pods = level.name === 'pod' ? { pods: level.pods } : {};
  const facts = await tolerate(perform('observeCapacity', 'look for capacity for the next attempt', { job, ...pods }));
  if (!facts) return undefined;
  const by = level.name === 'pod' ? 'pods' : decision.by;
  const approved = approvals.answerOf('capacity')?.approved === true && { approved: true as const };
  const decided = await decideCapacity({ facts, plan: capacity, severity, by, ...(state.capacity.standbyTaken && { standbyTaken: true }), ...approved });
  state.capacity.decided(decided);
  return decided;
}

/** Once in an incident, with a few more tries if others took the nodes first; after that the job waits. */
async function takeStandbyNodes(
  { input, state, timeline, event }: Preparing,
  { nodes, because }: Extract<CapacityDecision, { kind: 'standby' }>,
): Promise<Prepared> {
  const done = await tolerate(perform('takeStandbyNodes', `take ${nodes.join(', ')} from standby`, { incident: input.incident, nodes }));
  state.capacity.tookStandbyNodes(done?.taken.length ?? 0, nodes.length);
  const taken = done?.taken.join(', ') || 'none';
  timeline.happened('standby nodes taken', `${taken}: ${because}`);
  void announce(event('Normal', 'standbyNodeTaken', `standby nodes taken: ${taken}; ${because}`));
  return 'look again';
}

/** Looks again by itself, because nothing reports that a pod elsewhere has gone. */
async function waitForCapacity(
  { input, state, timeline, event, hasChanged }: Preparing,
  hold: Pick<CapacityHold, 'because' | 'remedy' | 'lookAgainMs'>,
): Promise<Prepared> {
  const { because, lookAgainMs } = hold;
  const { until, times } = state.capacity.waits(Date.now() + input.limits.holdMs);
  if (times === 1) {
    timeline.happened('held', because);
    void announce(event('Warning', 'recoveryHeld', `held: ${because}; ${hold.remedy}`));
  }
  if (Date.now() >= until) return { outcome: 'escalated', because: `still no capacity after its deadline: ${because}` };
  timeline.now('held', { because: `held: ${because}`, waitingFor: hold.remedy, until });
  const pause = Math.min(lookAgainMs * 2 ** Math.min(times - 1, 10), mostPauseMs, until - Date.now());
  await condition(hasChanged, Math.max(1, pause), { summary: short(`held: ${because}`) });
  return 'look again';
}
