/** The steps of a recovery around one stop. Pure. */

import { formatDuration } from '../../contract/duration.ts';
import type { StopMethod } from '../../contract/jobs.ts';
import type { Approval, CapacityDecision, CheckpointPlan, RecoveryPlan } from '../../contract/recovery-plan.ts';
import type { RecoveryDecision } from '../../contract/recovery.ts';
import type { WorkerSettings } from '../../contract/settings.schema.ts';
import type { Undated } from '../../policy/decision.ts';
import { stopMethod } from '../../policy/recovery.ts';
import type { PlanInput } from './facts.ts';
import { judgeCapacity } from './judge-capacity.ts';

export interface PlanStep {
  readonly step: 'quarantine' | 'wait' | 'approve' | 'evidence' | 'checkpoint' | 'capacity' | 'stop' | 'restart' | 'verify';
  readonly what: string;
  readonly because: string;
  /** Not done now; it shows what would be done otherwise, for example in mode `act`. */
  readonly otherwise?: true;
}

interface Steps {
  readonly steps: readonly PlanStep[];
  readonly capacity?: Undated<CapacityDecision>;
  /** Why the stop would be held now. */
  readonly holds?: { readonly because: string; readonly remedy: string };
}

/** The decision of a recovery at the level that it reaches. */
export interface PlanLevel {
  readonly decision: Undated<RecoveryDecision>;
  /** With the capacity that applies to this level. */
  readonly facts: PlanInput;
  /** The step at which an earlier level was skipped for lack of capacity. */
  readonly passed?: PlanStep;
}

/** From the approval to the verification; empty without a plan. */
export function stepsOf({ decision, facts, passed }: PlanLevel, settings: WorkerSettings): Steps {
  const stopped = stopOf(facts, decision, settings);
  if (!stopped) return { steps: [] };
  const { plan, by } = stopped;
  const capacity = judgeCapacity(facts, plan, by, settings)?.decision;
  const before = [
    ...(plan.approval ? [approve(plan.approval)] : []),
    ...evidence(facts, settings),
    ...(plan.checkpoint.strategy === 'on-termination' ? [] : [checkpoint(plan.checkpoint)]),
    ...(passed ? [passed] : []),
    ...capacitySteps(plan, capacity),
  ];
  if (capacity?.kind === 'hold') return { steps: before, capacity, holds: capacity };
  const after = [
    stop(facts, plan, by, decision.because),
    ...(plan.checkpoint.strategy === 'on-termination' ? [checkpoint(plan.checkpoint)] : []),
    restart(facts, plan, capacity, settings),
    verify(facts, settings),
  ];
  return { steps: [...before, ...after], ...(capacity && { capacity }) };
}

/** Plan and method of the stop, also of one that is only planned; undefined without a plan. */
export function stopOf({ attempt: { job } }: PlanInput, decision: Undated<RecoveryDecision>, settings: WorkerSettings) {
  const plan = decision.kind === 'stop' || decision.kind === 'end' ? decision.plan : undefined;
  const by = decision.kind === 'stop' ? decision.by : stopMethod(job, settings);
  return plan && by && { plan, by };
}

const withoutAnswer = ({ withinMs, otherwise }: Approval): string => `a person has ${formatDuration(withinMs)}; without an answer: ${otherwise}`;

const approve = (approval: Approval): PlanStep => ({ step: 'approve', what: withoutAnswer(approval), because: approval.because });

function evidence({ attempt: { pods } }: PlanInput, { recovery: { evidence: kept } }: WorkerSettings): PlanStep[] {
  if (kept.within === 0) return [];
  return [{ step: 'evidence', what: `logs and states of ${podsOf(pods.length)}, ${formatDuration(kept.within)} at most`, because: 'a stop deletes them' }];
}

function checkpoint(plan: CheckpointPlan): PlanStep {
  const { because } = plan;
  switch (plan.strategy) {
    case 'none':
      return { step: 'checkpoint', what: 'none is awaited', because };
    case 'fresh':
      return { step: 'checkpoint', what: `one beyond step ${plan.beyond}, ${formatDuration(plan.withinMs)} at most`, because };
    case 'on-termination':
      return { step: 'checkpoint', what: `one of step ${plan.atLeast} within ${formatDuration(plan.withinMs)} after the stop`, because };
  }
}

function capacitySteps({ capacity: plan }: RecoveryPlan, decision: Undated<CapacityDecision> | undefined): PlanStep[] {
  if (!plan) return [];
  if (!decision) return [{ step: 'capacity', what: `without capacity: ${plan.choice}`, because: 'capacity was not looked up yet' }];
  return [{ step: 'capacity', what: describeCapacity(decision), because: decision.because }];
}

function describeCapacity(decision: Undated<CapacityDecision>): string {
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

function stop({ attempt: { pods } }: PlanInput, { level, force }: RecoveryPlan, by: StopMethod, because: string): PlanStep {
  const grace = force ? ', without a grace period' : '';
  if (level.name === 'job') return { step: 'stop', what: `${podsOf(pods.length)} by ${by}${grace}`, because };
  const names = pods.filter(({ uid }) => level.pods.includes(uid)).map(({ name }) => name);
  return { step: 'stop', what: `${names.join(', ')} alone${grace}`, because };
}

function restart(
  { attempt: { job } }: PlanInput,
  { level }: RecoveryPlan,
  capacity: Undated<CapacityDecision> | undefined,
  { recovery }: WorkerSettings,
): PlanStep {
  const count = capacity?.kind === 'shrink' ? capacity.pods : job.podsExpected;
  const within = level.name === 'pod' ? level.withinMs : recovery.deadlines.restart;
  return { step: 'restart', what: `all ${podsOf(count)} ready within ${formatDuration(within)}, none on a quarantined node`, because: level.because };
}

function verify({ attempt: { job } }: PlanInput, { recovery: { verify: limits } }: WorkerSettings): PlanStep {
  if (!job.progress) return { step: 'verify', what: 'nothing', because: 'the job reports no progress: restarted, not verified' };
  const what = `a first step within ${formatDuration(limits.first)}, one beyond ${job.progress.step} within ${formatDuration(limits.most)}`;
  return { step: 'verify', what, because: 'a job is recovered only when training makes progress' };
}

const podsOf = (count: number): string => `${count} ${count === 1 ? 'pod' : 'pods'}`;
