/** Whether the next attempt finds capacity, and what to do when it does not: nothing is stopped that could not be started again. */

import type { CapacityDecision, RecoveryPlan } from '../../../contract/recovery/plan.ts';
import { isPassedOver, podsOf } from '../incident.ts';
import { answerOf, unanswered } from '../questions.ts';
import { withoutAnswer } from './approve.ts';
import {
  type CapacityChange,
  type CapacityData,
  isKnown,
  isShort,
  nextCapacity,
  noCapacityYet,
  waitedLong,
} from './capacity-data.ts';
import { type Line, planOf, type Prepared, type Preparing, type Step, type Visit } from './step.ts';

/** The pause between looks doubles from the decision's value up to this, ms. */
const mostPauseMs = 60_000;

type CapacityHold = Extract<CapacityDecision, { kind: 'hold' }>;
type Look = Preparing<CapacityData, CapacityChange>;

export const capacity: Step<'capacity', CapacityData, CapacityChange> = {
  name: 'capacity',
  first: noCapacityYet,
  next: nextCapacity,
  appliesTo: (decision) => planOf(decision) !== undefined,

  async before(preparing) {
    const { plan, incident, own } = preparing;
    if (!plan) return 'ready';
    if (!plan.capacity) preparing.changeIncident({ kind: 'nextSizeChosen' });
    if (!plan.capacity || isKnown(own, incident.revision, preparing.tools.now())) return 'ready';
    preparing.show('checking capacity', {
      because: 'all pods of an attempt need capacity at once',
      waitingFor: 'a look at all nodes and pods',
    });
    // The look may not cover changes that happen during it, so the revision is taken before.
    const { revision } = incident;
    const decision = await judge(preparing, plan);
    if (!decision) return unknown(preparing, plan, revision);
    if (decision.kind !== 'ask') preparing.changeIncident({ kind: 'questionDropped', name: 'capacity' });
    return follow(preparing, plan, decision, revision);
  },

  doneAt: ({ decisions }) => decisions.at(-1)?.at,
  isWaiting: isShort,
  record: ({ decisions }) => (decisions.length > 0 ? { capacity: decisions } : {}),
  wouldDo: ({ capacity: plan }) => plan && { what: 'would look for capacity', because: `without it: ${plan.choice}` },
  planned,
};

/** Undefined when capacity could not be observed. */
async function judge(
  { incident, own, decision, tools, ...preparing }: Look,
  { capacity: plan, level, severity }: RecoveryPlan,
) {
  if (!plan || decision.kind !== 'stop') return undefined;
  const pods = level.name === 'pod' ? { pods: level.pods } : {};
  const facts = await tools.tolerate(
    tools.perform('observeCapacity', 'look for capacity for the next attempt', { job: incident.input.job, ...pods }),
  );
  if (!facts) return undefined;
  const by = level.name === 'pod' ? ('pods' as const) : decision.by;
  const approved = answerOf(incident.questions, 'capacity')?.approved === true && { approved: true as const };
  const decided = await tools.decideCapacity({
    facts,
    plan,
    severity,
    by,
    ...(own.standbyTaken && { standbyTaken: true }),
    ...approved,
  });
  preparing.change({ kind: 'decided', decision: decided, at: tools.now() });
  return decided;
}

async function follow(
  preparing: Look,
  plan: RecoveryPlan,
  decision: CapacityDecision,
  revision: number,
): Promise<Prepared> {
  const podsFirst = decision.kind !== 'shrink' && plan.level.name === 'job' && isPassedOver(preparing.incident);
  if (podsFirst) preparing.changeIncident({ kind: 'passedOverDropped' });
  switch (decision.kind) {
    case 'go':
    case 'shrink': {
      const waited = waitedLong(preparing.own, preparing.tools.now());
      preparing.change({ kind: 'found', revision, at: preparing.tools.now() });
      preparing.changeIncident({ kind: 'nextSizeChosen', ...(decision.kind === 'shrink' && { pods: decision.pods }) });
      preparing.happened(decision.kind === 'go' ? 'capacity' : 'shrinks', decision.because);
      // Whether pods fit beside those that stay is another question: look again.
      if (podsFirst) preparing.change({ kind: 'forgotten' });
      // It trained for long while it waited, so another checkpoint may be worth awaiting.
      if (waited) preparing.changeIncident({ kind: 'trainedOn' });
      return waited || podsFirst ? 'look again' : 'ready';
    }
    case 'standby':
      return takeStandbyNodes(preparing, decision);
    case 'ask':
      return preparing.ask('capacity', decision);
    case 'hold':
      return plan.level.name === 'pod' && plan.capacity?.choice === 'shrink'
        ? wholeJobNext(preparing, plan, decision)
        : wait(preparing, decision);
  }
}

/** Capacity could not be observed. The recovery goes on, unless the stop could end training that then cannot start again: there was no capacity before, or the job still trains. */
async function unknown(
  preparing: Look,
  { capacity: plan, severity }: RecoveryPlan,
  revision: number,
): Promise<Prepared> {
  const { incident, own, decision } = preparing;
  const asked = unanswered(incident.questions, 'capacity');
  if (asked && plan?.choice === 'ask') return preparing.ask('capacity', { ...asked, at: decision.at });
  const mayWait = plan?.choice !== 'restart' && answerOf(incident.questions, 'capacity')?.approved !== true;
  const waitBecause = (why: string) =>
    wait(preparing, {
      because: `the nodes cannot be observed now, and ${why}`,
      remedy: 'kcover doctor',
      lookAgainMs: 5000,
    });
  if (mayWait && (isShort(own) || incident.nextPods !== undefined)) return waitBecause('there was no capacity before');
  if (mayWait && severity !== 'dead') return waitBecause('the job still trains');
  preparing.change({ kind: 'unknown', revision });
  preparing.changeIncident({ kind: 'nextSizeChosen' });
  preparing.happened(
    'capacity unknown',
    'the nodes could not be observed: the recovery goes on without knowing whether the next attempt finds capacity',
  );
  return 'ready';
}

/** Pods are replaced one for one. Where those find no capacity but a smaller job would, the whole job is stopped. */
async function wholeJobNext(preparing: Look, plan: RecoveryPlan, alone: CapacityHold): Promise<Prepared> {
  const whole = await judge(preparing, { ...plan, level: { name: 'job', because: alone.because } });
  if (whole?.kind !== 'shrink') return wait(preparing, whole?.kind === 'hold' ? whole : alone);
  preparing.changeIncident({
    kind: 'levelTried',
    tried: { level: 'pod', because: `${alone.because}; ${whole.because}`, noCapacity: true },
  });
  preparing.happened('the whole job next', alone.because);
  return 'look again';
}

/** Once in an incident, with a few more tries if others took the nodes first; after that the job waits. */
async function takeStandbyNodes(
  preparing: Look,
  { nodes, because }: Extract<CapacityDecision, { kind: 'standby' }>,
): Promise<Prepared> {
  const { tools, incident } = preparing;
  const request = { incident: incident.input.incident, nodes };
  const done = await tools.tolerate(
    tools.perform('takeStandbyNodes', `take ${nodes.join(', ')} from standby`, request),
  );
  preparing.change({ kind: 'standbyNodesTaken', taken: done?.taken.length ?? 0, wanted: nodes.length });
  const taken = done?.taken.join(', ') || 'none';
  preparing.happened('standby nodes taken', `${taken}: ${because}`);
  preparing.announce('Normal', 'standbyNodeTaken', `standby nodes taken: ${taken}; ${because}`);
  return 'look again';
}

/** Looks again by itself, because nothing reports that a pod elsewhere has gone. */
async function wait(
  preparing: Look,
  { because, remedy, lookAgainMs }: Pick<CapacityHold, 'because' | 'remedy' | 'lookAgainMs'>,
): Promise<Prepared> {
  const { tools } = preparing;
  preparing.change({ kind: 'waiting', until: tools.now() + preparing.incident.input.limits.holdMs });
  const { until, times } = preparing.own.wait ?? { until: tools.now(), times: 1 };
  if (times === 1) {
    preparing.happened('held', because);
    preparing.announce('Warning', 'recoveryHeld', `held: ${because}; ${remedy}`);
  }
  if (tools.now() >= until)
    return { outcome: 'escalated', because: `still no capacity after its deadline: ${because}` };
  preparing.show('held', { because: `held: ${because}`, waitingFor: remedy, until });
  const pause = Math.min(lookAgainMs * 2 ** Math.min(times - 1, 10), mostPauseMs, until - tools.now());
  await preparing.pause(Math.max(1, pause), `held: ${because}`);
  return 'look again';
}

function planned({ before, after }: Visit<CapacityData>): Line | undefined {
  const [tried, last] = [after.incident.tried.at(-1), after.own.decisions.at(-1)];
  if (tried?.noCapacity && tried !== before.incident.tried.at(-1))
    return { what: 'none for the broken pods alone: the whole job', because: tried.because };
  if (after.own.wait !== before.own.wait && last?.kind !== 'hold')
    return { what: 'hold: nothing is stopped', because: after.incident.shown.because };
  return last && last !== before.own.decisions.at(-1) ? { what: describe(last), because: last.because } : undefined;
}

function describe(decision: CapacityDecision): string {
  switch (decision.kind) {
    case 'go':
      return 'go on';
    case 'standby':
      return `take standby nodes ${decision.nodes.join(', ')}`;
    case 'shrink':
      return `go on with ${podsOf(decision.pods)}`;
    case 'hold':
      return 'hold: nothing is stopped';
    case 'ask':
      return withoutAnswer(decision);
  }
}
