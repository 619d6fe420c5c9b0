/** Decides about capacity, as a recovery does. Pure. */

import type { CapacityRequest } from '../../contract/wire/activities.ts';
import type { StopMethod } from '../../contract/job/jobs.ts';
import type { CapacityDecision, CapacityFacts, RecoveryPlan } from '../../contract/recovery/plan.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { decideCapacity } from '../../policy/capacity/capacity.ts';
import type { Undated } from '../../policy/decision.ts';
import type { PlanInput } from './facts.ts';

export interface CapacityJudgement {
  readonly decision: Undated<CapacityDecision>;
  /** The level `pod` is skipped: the broken pods do not fit, and this smaller job would. */
  readonly wholeJobNext?: { readonly because: string; readonly capacity: CapacityFacts };
}

/** Undefined when the plan does not check capacity, or capacity was not read. */
export function judgeCapacity(
  facts: PlanInput,
  plan: RecoveryPlan,
  by: StopMethod,
  settings: WorkerSettings,
): CapacityJudgement | undefined {
  const { capacity, severity, level } = plan;
  if (!capacity || !facts.capacity) return undefined;
  const judge = (observed: CapacityFacts, how: CapacityRequest['by']) =>
    decideCapacity({ facts: observed, plan: capacity, severity, by: how }, settings);
  if (level.name !== 'pod') return { decision: judge(facts.capacity, by) };
  const alone = judge(facts.capacity, 'pods');
  if (alone.kind !== 'hold' || capacity.choice !== 'shrink' || !facts.capacityOfAll) return { decision: alone };
  const whole = judge(facts.capacityOfAll, by);
  if (whole.kind === 'shrink')
    return {
      decision: alone,
      wholeJobNext: { because: `${alone.because}; ${whole.because}`, capacity: facts.capacityOfAll },
    };
  return { decision: whole.kind === 'hold' ? whole : alone };
}
