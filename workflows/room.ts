/** Whether the next attempt finds room, and what is done when it does not: nothing is stopped that could not be started again. */

import { condition } from '@temporalio/workflow';
import type { CapacityChoice } from '../contract/job-wishes.ts';
import type { CapacityDecision, RecoveryPlan, Severity } from '../contract/recovery-plan.ts';
import { askPerson } from './ask-person.ts';
import type { Prepared, Preparing, Step } from './preparing.ts';
import { announce, decideCapacity, perform, short, tolerate } from './proxies.ts';

/** Doubles from what the decision says, up to that, ms. */
const mostPauseMs = 60_000;

type Hold = Extract<CapacityDecision, { kind: 'hold' }>;

export const findRoom: Step = async (preparing, plan) => {
  const { memory, story, approvals } = preparing;
  if (!plan.capacity) memory.room.nextPods = undefined;
  if (!plan.capacity || memory.room.isKnown(memory.mark())) return 'ready';
  story.now('checking capacity', { because: 'a whole attempt needs room at once', waitingFor: 'a look at all nodes and pods' });
  // What comes while somebody looks is not seen by that look.
  const mark = memory.mark();
  const decision = await judgeRoom(preparing, plan);
  if (!decision) return roomUnknown(preparing, { choice: plan.capacity.choice, severity: plan.severity }, mark);
  if (decision.kind !== 'ask') approvals.drop('capacity');
  const podsFirst = decision.kind !== 'shrink' && plan.level.name === 'job' && memory.podsFirstAgain();
  switch (decision.kind) {
    case 'go':
    case 'shrink': {
      const { waited } = memory.room.isThere(mark, decision.kind === 'shrink' ? decision.pods : undefined);
      story.happened(decision.kind === 'go' ? 'room' : 'shrinks', decision.because);
      // Pods beside those that stay need a look of their own.
      if (podsFirst) memory.room.forget();
      // It has trained on for long.
      if (waited) memory.forgetCheckpoint();
      return waited || podsFirst ? 'look again' : 'ready';
    }
    case 'spare':
      return takeSpares(preparing, decision);
    case 'ask':
      return askPerson(preparing, 'capacity', decision);
    case 'hold':
      return plan.level.name === 'pod' && plan.capacity.choice === 'shrink' ? wholeJobNext(preparing, plan, decision) : waitForRoom(preparing, decision);
  }
};

/** It goes on without knowing, unless that could stop what still trains and would perhaps not start again: where there was no room before, or the job could wait. */
async function roomUnknown(
  preparing: Preparing,
  { choice, severity }: { readonly choice: CapacityChoice; readonly severity: Severity },
  mark: number,
): Promise<Prepared> {
  const { memory, story, approvals, decision } = preparing;
  const asked = approvals.unanswered('capacity');
  if (asked && choice === 'ask') return askPerson(preparing, 'capacity', { ...asked, at: decision.at });
  const isShort = memory.room.isShort || memory.room.nextPods !== undefined;
  const mayWait = choice !== 'restart' && approvals.answerOf('capacity')?.approved !== true;
  const wait = (why: string) => waitForRoom(preparing, { because: `the nodes cannot be looked at now, and ${why}`, try: 'kcover doctor', lookAgainMs: 5000 });
  if (mayWait && isShort) return wait('there was no room before');
  if (mayWait && severity !== 'dead') return wait('the job still trains');
  memory.room.isUnknown(mark);
  story.happened('room unknown', 'the nodes could not be looked at: whether the next attempt finds room is not known, and it goes on');
  return 'ready';
}

/** Pods that are replaced come back as many. Where they find no room, and a smaller job would, the whole job is stopped. */
async function wholeJobNext(preparing: Preparing, plan: RecoveryPlan, alone: Hold): Promise<Prepared> {
  const { memory, story } = preparing;
  const whole = await judgeRoom(preparing, { ...plan, level: { name: 'job', because: alone.because } });
  if (whole?.kind !== 'shrink') return waitForRoom(preparing, whole?.kind === 'hold' ? whole : alone);
  memory.tried.push({ level: 'pod', because: `${alone.because}; ${whole.because}`, noRoom: true });
  story.happened('the whole job next', alone.because);
  return 'look again';
}

/** Undefined when nobody could look. */
async function judgeRoom({ input: { job }, memory, approvals, decision }: Preparing, plan: RecoveryPlan): Promise<CapacityDecision | undefined> {
  const { capacity, level, severity } = plan;
  if (!capacity) return undefined;
  const pods = level.name === 'pod' ? { pods: level.pods } : {};
  const facts = await tolerate(perform('observeCapacity', 'look for room for the next attempt', { job, ...pods }));
  if (!facts) return undefined;
  const by = level.name === 'pod' ? 'pods' : decision.by;
  const approved = approvals.answerOf('capacity')?.approved === true && { approved: true as const };
  const decided = await decideCapacity({ facts, plan: capacity, severity, by, ...(memory.room.sparesTaken && { sparesTaken: true }), ...approved });
  memory.room.decided(decided);
  return decided;
}

/** Once in an incident, unless others were faster: whoever is short again waits. */
async function takeSpares({ input, memory, story, event }: Preparing, { nodes, because }: Extract<CapacityDecision, { kind: 'spare' }>): Promise<Prepared> {
  const done = await tolerate(perform('takeSpares', `take ${nodes.join(', ')} from stand-by`, { incident: input.incident, nodes }));
  memory.room.tookSpares(done?.taken.length ?? 0, nodes.length);
  const taken = done?.taken.join(', ') || 'none';
  story.happened('stand-by nodes taken', `${taken}: ${because}`);
  void announce(event('Normal', 'spareTaken', `stand-by nodes taken: ${taken}; ${because}`));
  return 'look again';
}

/** Nobody tells when a pod elsewhere has gone: it looks again by itself. */
async function waitForRoom({ input, memory, story, event, isNews }: Preparing, hold: Pick<Hold, 'because' | 'try' | 'lookAgainMs'>): Promise<Prepared> {
  const { because, lookAgainMs } = hold;
  const { until, times } = memory.room.waits(Date.now() + input.limits.holdMs);
  if (times === 1) {
    story.happened('held', because);
    void announce(event('Warning', 'recoveryHeld', `held: ${because}; ${hold.try}`));
  }
  if (Date.now() >= until) return { outcome: 'handed over', because: `still no room after its deadline: ${because}` };
  story.now('held', { because: `held: ${because}`, waitingFor: hold.try, until });
  const pause = Math.min(lookAgainMs * 2 ** Math.min(times - 1, 10), mostPauseMs, until - Date.now());
  await condition(isNews, Math.max(1, pause), { summary: short(`held: ${because}`) });
  return 'look again';
}
