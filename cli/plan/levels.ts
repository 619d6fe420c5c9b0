/** The level at which a recovery would stop the job. Pure. */

import { recoveryRequested } from '../../contract/faults/faults.ts';
import type { RecoveryDecision, RecoveryFacts } from '../../contract/recovery/recovery.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Undated } from '../../policy/decision.ts';
import { decideRecovery } from '../../policy/recovery/recovery.ts';
import { plannedInProcess } from '../../workflows/recovery/steps/in-process.ts';
import type { PlanInput } from './facts.ts';
import { judgeCapacity } from './judge-capacity.ts';
import { type PlanLevel, type PlanStep, stopOf } from './steps.ts';

export interface ReachedLevel {
  /** The decision as the worker would record it; without a stop, capacity is not checked. */
  readonly recovery: Undated<RecoveryDecision>;
  /** Steps before any stop. */
  readonly steps: readonly PlanStep[];
  readonly level: PlanLevel;
}

export function reachLevel(facts: PlanInput, now: number, settings: WorkerSettings): ReachedLevel {
  const { fresh, handled, open: already } = facts.known;
  const all = [...fresh, ...(facts.hypothetical ? [facts.hypothetical] : [])];
  const asked = already?.asked ?? all.some(({ code }) => code === recoveryRequested);
  const attempts = already?.attempts ?? settings.recovery.attempts;
  const first = {
    attempt: facts.attempt,
    fresh: all,
    handled,
    stops: already?.stops ?? 0,
    attempts,
    asked,
    now,
    tried: [],
  };
  const { decision, request, steps } = passProcesses(first, settings);
  const level = passPods(decision, request, facts, settings);
  return { recovery: decision.kind === 'stop' ? level.decision : decision, steps, level };
}

type LevelFacts = RecoveryFacts & Required<Pick<RecoveryFacts, 'tried' | 'now'>>;

/** The level `process` is assumed to fail, so that the plan shows what follows. */
function passProcesses(request: LevelFacts, settings: WorkerSettings) {
  const decision = decideRecovery(request, settings);
  if (decision.kind !== 'hold' || !decision.inProcess) return { decision, request, steps: [] };
  const { withinMs } = decision.inProcess;
  const failed = { level: 'process', because: 'training did not go on inside its processes' } as const;
  const next: LevelFacts = { ...request, tried: [...request.tried, failed], now: request.now + withinMs };
  const step: PlanStep = { step: 'restart', ...plannedInProcess({ ...decision.inProcess, because: decision.because }) };
  return { decision: decideRecovery(next, settings), request: next, steps: [step] };
}

/** Skips the level `pod` when the broken pods do not fit but a smaller job would. */
function passPods(
  decision: Undated<RecoveryDecision>,
  request: LevelFacts,
  facts: PlanInput,
  settings: WorkerSettings,
): PlanLevel {
  const stop = stopOf(facts, decision, settings);
  const next = stop && judgeCapacity(facts, stop.plan, stop.by, settings)?.wholeJobNext;
  if (!next) return { decision, facts };
  const { because, capacity } = next;
  const tried = [...request.tried, { level: 'pod', because, noCapacity: true } as const];
  return {
    decision: decideRecovery({ ...request, tried }, settings),
    facts: { ...facts, capacity },
    passedOver: because,
  };
}
