/** The steps of one stop, as a recovery takes them. Pure. */

import { formatDuration } from '../../contract/duration.ts';
import type { StopMethod } from '../../contract/jobs.ts';
import type { Approval, CapacityDecision, CheckpointPlan, RecoveryPlan } from '../../contract/recovery-plan.ts';
import type { RecoveryDecision } from '../../contract/recovery.ts';
import type { WorkerSettings } from '../../contract/settings.schema.ts';
import type { Undated } from '../../policy/decision.ts';
import { stopMethod } from '../../policy/recovery.ts';
import type { PlanFacts } from './facts.ts';
import { judgeRoom } from './judge-room.ts';

export interface Step {
  readonly step: 'quarantine' | 'wait' | 'approve' | 'evidence' | 'checkpoint' | 'capacity' | 'stop' | 'restart' | 'verify';
  readonly what: string;
  readonly because: string;
  /** Only if nothing stood in the way: it would not be done now. */
  readonly otherwise?: true;
}

interface Steps {
  readonly steps: readonly Step[];
  readonly capacity?: Undated<CapacityDecision>;
  /** Why it would not come to the stop now. */
  readonly holds?: { readonly because: string; readonly try: string };
}

/** What a recovery comes to. */
export interface Level {
  readonly decision: Undated<RecoveryDecision>;
  /** With the room that it looks at. */
  readonly facts: PlanFacts;
  /** A level before it that was found to be of no use when room was looked for. */
  readonly passed?: Step;
}

/** From the question to a person to the proof; empty without a plan. */
export function stepsOf({ decision, facts, passed }: Level, settings: WorkerSettings): Steps {
  const stopped = stopOf(facts, decision, settings);
  if (!stopped) return { steps: [] };
  const { plan, by } = stopped;
  const capacity = judgeRoom(facts, plan, by, settings)?.decision;
  const before = [
    ...(plan.approval ? [approve(plan.approval)] : []),
    ...evidence(facts, settings),
    ...(plan.checkpoint.strategy === 'dying-gasp' ? [] : [checkpoint(plan.checkpoint)]),
    ...(passed ? [passed] : []),
    ...room(plan, capacity),
  ];
  if (capacity?.kind === 'hold') return { steps: before, capacity, holds: capacity };
  const after = [
    stop(facts, plan, by, decision.because),
    ...(plan.checkpoint.strategy === 'dying-gasp' ? [checkpoint(plan.checkpoint)] : []),
    restart(facts, plan, capacity, settings),
    verify(facts, settings),
  ];
  return { steps: [...before, ...after], ...(capacity && { capacity }) };
}

/** The stop that is decided, or that would be; undefined without a plan. */
export function stopOf({ attempt: { job } }: PlanFacts, decision: Undated<RecoveryDecision>, settings: WorkerSettings) {
  const plan = decision.kind === 'stop' || decision.kind === 'end' ? decision.plan : undefined;
  const by = decision.kind === 'stop' ? decision.by : stopMethod(job, settings);
  return plan && by && { plan, by };
}

const silence = ({ withinMs, otherwise }: Approval): string => `a person has ${formatDuration(withinMs)}; silence means ${otherwise}`;

const approve = (approval: Approval): Step => ({ step: 'approve', what: silence(approval), because: approval.because });

function evidence({ attempt: { pods } }: PlanFacts, { recovery: { evidence: kept } }: WorkerSettings): Step[] {
  if (kept.within === 0) return [];
  return [{ step: 'evidence', what: `logs and states of ${podsOf(pods.length)}, ${formatDuration(kept.within)} at most`, because: 'a stop takes them away' }];
}

function checkpoint(plan: CheckpointPlan): Step {
  const { because } = plan;
  switch (plan.strategy) {
    case 'none':
      return { step: 'checkpoint', what: 'none is awaited', because };
    case 'fresh':
      return { step: 'checkpoint', what: `one beyond step ${plan.beyond}, ${formatDuration(plan.withinMs)} at most`, because };
    case 'dying-gasp':
      return { step: 'checkpoint', what: `one of step ${plan.atLeast} within ${formatDuration(plan.withinMs)} after the stop`, because };
  }
}

function room({ capacity: plan }: RecoveryPlan, decision: Undated<CapacityDecision> | undefined): Step[] {
  if (!plan) return [];
  if (!decision) return [{ step: 'capacity', what: `without room: ${plan.choice}`, because: 'nobody has looked for room yet' }];
  return [{ step: 'capacity', what: roomIn(decision), because: decision.because }];
}

function roomIn(decision: Undated<CapacityDecision>): string {
  switch (decision.kind) {
    case 'go':
      return 'go on';
    case 'spare':
      return `take ${decision.nodes.join(', ')} from stand-by`;
    case 'shrink':
      return `go on with ${podsOf(decision.pods)}`;
    case 'hold':
      return 'hold: nothing is stopped';
    case 'ask':
      return silence(decision);
  }
}

function stop({ attempt: { pods } }: PlanFacts, { level, force }: RecoveryPlan, by: StopMethod, because: string): Step {
  const grace = force ? ', without time to end' : '';
  if (level.name === 'job') return { step: 'stop', what: `${podsOf(pods.length)} by ${by}${grace}`, because };
  const names = pods.filter(({ uid }) => level.pods.includes(uid)).map(({ name }) => name);
  return { step: 'stop', what: `${names.join(', ')} alone${grace}`, because };
}

function restart(
  { attempt: { job } }: PlanFacts,
  { level }: RecoveryPlan,
  capacity: Undated<CapacityDecision> | undefined,
  { recovery }: WorkerSettings,
): Step {
  const count = capacity?.kind === 'shrink' ? capacity.pods : job.podsExpected;
  const within = level.name === 'pod' ? level.withinMs : recovery.deadlines.restart;
  return { step: 'restart', what: `all ${podsOf(count)} ready within ${formatDuration(within)}, none on a quarantined node`, because: level.because };
}

function verify({ attempt: { job } }: PlanFacts, { recovery: { verify: limits } }: WorkerSettings): Step {
  if (!job.progress) return { step: 'verify', what: 'nothing', because: 'the job reports no progress: restarted, not verified' };
  const what = `a first step within ${formatDuration(limits.first)}, one beyond ${job.progress.step} within ${formatDuration(limits.most)}`;
  return { step: 'verify', what, because: 'only training that moves on is recovered' };
}

const podsOf = (count: number): string => `${count} ${count === 1 ? 'pod' : 'pods'}`;
