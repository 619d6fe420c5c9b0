/** Whether the next attempt finds room, and what is done when it does not: nothing is stopped that could not be started again. */

import { condition } from '@temporalio/workflow';
import type { CapacityDecision, RecoveryPlan } from '../contract/recovery-plan.ts';
import { askPerson } from './approval.ts';
import type { Prepared, Preparing, Step } from './preparing.ts';
import { announce, decideCapacity, perform, short, tolerate } from './proxies.ts';

/** Doubles from what the decision says, up to that, ms. */
const mostPauseMs = 60_000;

export const findRoom: Step = async (preparing, plan) => {
  const { memory, story } = preparing;
  if (!plan.capacity) memory.nextPods = undefined;
  if (!plan.capacity || memory.hasRoom()) return 'ready';
  story.now('checking capacity', { because: 'a whole attempt needs room at once', waitingFor: 'a look at all nodes and pods' });
  const decision = await judgeRoom(preparing, plan);
  if (!decision) {
    memory.foundRoom();
    story.happened('room unknown', 'nobody could look at the nodes');
    return 'ready';
  }
  if (decision.kind !== 'ask') preparing.approvals.drop('capacity');
  switch (decision.kind) {
    case 'go': {
      const { waited } = memory.foundRoom();
      story.happened('room', decision.because);
      if (!waited) return 'ready';
      memory.forgetCheckpoint();
      return 'look again';
    }
    case 'shrink':
      memory.foundRoom(decision.pods);
      story.happened('shrinks', decision.because);
      return 'ready';
    case 'spare':
      return takeSpares(preparing, decision);
    case 'ask':
      return askPerson(preparing, 'capacity', decision);
    case 'hold':
      return plan.level.name === 'pod' && plan.capacity.choice === 'shrink' ? wholeJobNext(preparing, decision) : waitForRoom(preparing, decision);
  }
};

/** Pods that are replaced come back as many; only a job that is stopped whole can be made smaller. */
function wholeJobNext({ memory, story }: Preparing, { because }: CapacityDecision): Prepared {
  memory.tried.push({ level: 'pod', because });
  story.happened('the whole job next', because);
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
  const decided = await decideCapacity({ facts, plan: capacity, severity, by, ...(memory.sparesTaken && { sparesTaken: true }), ...approved });
  memory.roomDecided(decided);
  return decided;
}

/** Once in an incident, unless others were faster: whoever is short again waits. */
async function takeSpares({ input, memory, story, event }: Preparing, { nodes, because }: Extract<CapacityDecision, { kind: 'spare' }>): Promise<Prepared> {
  const done = await tolerate(perform('takeSpares', `take ${nodes.join(', ')} from stand-by`, { incident: input.incident, nodes }));
  memory.tookSpares(done?.taken.length ?? 0, nodes.length);
  const taken = done?.taken.join(', ') || 'none';
  story.happened('stand-by nodes taken', `${taken}: ${because}`);
  void announce(event('Normal', 'spareTaken', `stand-by nodes taken: ${taken}; ${because}`));
  return 'look again';
}

/** Nobody tells when a pod elsewhere has gone: it looks again by itself. */
async function waitForRoom({ input, memory, story, event, isNews }: Preparing, decision: Extract<CapacityDecision, { kind: 'hold' }>): Promise<Prepared> {
  const { because, lookAgainMs } = decision;
  const { until, times } = memory.waitsForRoom(Date.now() + input.limits.holdMs);
  if (times === 1) {
    story.happened('held', because);
    void announce(event('Warning', 'recoveryHeld', `held: ${because}; ${decision.try}`));
  }
  if (Date.now() >= until) return { outcome: 'handed over', because: `still no room after its deadline: ${because}` };
  story.now('held', { because: `held: ${because}`, waitingFor: decision.try, until });
  const pause = Math.min(lookAgainMs * 2 ** Math.min(times - 1, 10), mostPauseMs, until - Date.now());
  await condition(isNews, Math.max(1, pause), { summary: short(`held: ${because}`) });
  return 'look again';
}
