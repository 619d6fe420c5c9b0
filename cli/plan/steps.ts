/** The steps of a recovery around one stop. Pure. */

import { formatDuration } from '../../contract/settings/duration.ts';
import type { StopMethod } from '../../contract/job/jobs.ts';
import type { CapacityDecision, RecoveryPlan } from '../../contract/recovery/plan.ts';
import type { RecoveryDecision } from '../../contract/recovery/recovery.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Undated } from '../../policy/decision.ts';
import { stopMethod } from '../../policy/recovery/recovery.ts';
import { podsOf } from '../../workflows/recovery/incident.ts';
import { steps, type StepName } from '../../workflows/recovery/steps/index.ts';
import type { PlannedStop } from '../../workflows/recovery/steps/step.ts';
import type { PlanInput } from './facts.ts';
import { judgeCapacity } from './judge-capacity.ts';

export interface PlanStep {
  readonly step: StepName | 'quarantine' | 'wait' | 'stop' | 'restart' | 'verify';
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
  /** With the capacity that it looks at. */
  readonly facts: PlanInput;
  /** Why the level before it, the broken pods alone, was found to be of no use when capacity was looked up. */
  readonly passedOver?: string;
}

/** From the question to a person to the proof; empty without a plan. */
export function stepsOf({ decision, facts, passedOver }: PlanLevel, settings: WorkerSettings): Steps {
  const stopped = stopOf(facts, decision, settings);
  if (!stopped) return { steps: [] };
  const { plan, by } = stopped;
  const capacity = judgeCapacity(facts, plan, by, settings)?.decision;
  const { before, after } = prepared({
    plan,
    pods: facts.attempt.pods.length,
    evidenceMs: settings.recovery.evidence.within,
    capacity,
    passedOver,
  });
  if (capacity?.kind === 'hold') return { steps: before, capacity, holds: capacity };
  const all = [
    ...before,
    stop(facts, plan, by, decision.because),
    ...after,
    restart(facts, plan, capacity, settings),
    verify(facts, settings),
  ];
  return { steps: all, ...(capacity && { capacity }) };
}

/** The rows of the recovery's own steps, before the stop and after it. */
function prepared(planned: PlannedStop): { readonly before: readonly PlanStep[]; readonly after: readonly PlanStep[] } {
  const rows = steps.flatMap((step) => (step.planned?.(planned) ?? []).map((row) => ({ step: step.name, ...row })));
  const rowsOf = (isAfter: boolean) =>
    rows
      .filter((row) => (row.afterStop ?? false) === isAfter)
      .map(({ step, what, because }) => ({ step, what, because }));
  return { before: rowsOf(false), after: rowsOf(true) };
}

/** Plan and method of the stop, also of one that is only planned; undefined without a plan. */
export function stopOf({ attempt: { job } }: PlanInput, decision: Undated<RecoveryDecision>, settings: WorkerSettings) {
  const plan = decision.kind === 'stop' || decision.kind === 'end' ? decision.plan : undefined;
  const by = decision.kind === 'stop' ? decision.by : stopMethod(job, settings);
  return plan && by && { plan, by };
}

function stop(
  { attempt: { pods } }: PlanInput,
  { level, force }: RecoveryPlan,
  by: StopMethod,
  because: string,
): PlanStep {
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
  return {
    step: 'restart',
    what: `all ${podsOf(count)} ready within ${formatDuration(within)}, none on a quarantined node`,
    because: level.because,
  };
}

function verify({ attempt: { job } }: PlanInput, { recovery: { verify: limits } }: WorkerSettings): PlanStep {
  if (!job.progress)
    return { step: 'verify', what: 'nothing', because: 'the job reports no progress: restarted, not verified' };
  const what = `a first step within ${formatDuration(limits.first)}, one beyond ${job.progress.step} within ${formatDuration(limits.most)}`;
  return { step: 'verify', what, because: 'a job is recovered only when training makes progress' };
}
