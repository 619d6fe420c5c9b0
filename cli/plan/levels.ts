/** The level at which a recovery would stop the job. Pure. */

import { formatDuration } from '../../contract/duration.ts';
import type { RecoveryDecision, RecoveryFacts } from '../../contract/recovery.ts';
import type { WorkerSettings } from '../../contract/settings.schema.ts';
import type { Undated } from '../../policy/decision.ts';
import { decideRecovery } from '../../policy/recovery.ts';
import type { PlanFacts } from './facts.ts';
import { judgeRoom } from './judge-room.ts';
import { type Level, type Step, stopOf } from './steps.ts';

export interface Reached {
  /** As the worker would record it; one that ends here looks for no room. */
  readonly recovery: Undated<RecoveryDecision>;
  /** Of what is tried before any stop. */
  readonly steps: readonly Step[];
  readonly level: Level;
}

export function reachLevel(facts: PlanFacts, now: number, settings: WorkerSettings): Reached {
  const { fresh, answered, open: already } = facts.known;
  const all = [...fresh, ...(facts.imagined ? [facts.imagined] : [])];
  const asked = already?.asked ?? all.some(({ source }) => source === 'operator');
  const attempts = already?.attempts ?? settings.recovery.attempts;
  const first = { attempt: facts.attempt, fresh: all, answered, stops: already?.stops ?? 0, attempts, asked, now, tried: [] };
  const { decision, request, steps } = passProcesses(first, settings);
  const level = passPods(decision, request, facts, settings);
  return { recovery: decision.kind === 'stop' ? level.decision : decision, steps, level };
}

type Request = RecoveryFacts & Required<Pick<RecoveryFacts, 'tried' | 'now'>>;

/** A try inside the processes is taken to fail. */
function passProcesses(request: Request, settings: WorkerSettings) {
  const decision = decideRecovery(request, settings);
  if (decision.kind !== 'hold' || !decision.inProcess) return { decision, request, steps: [] };
  const { beyond, withinMs } = decision.inProcess;
  const what = `training inside its processes; a step beyond ${beyond} within ${formatDuration(withinMs)}`;
  const failed = { level: 'process', because: 'training did not go on inside its processes' } as const;
  const next: Request = { ...request, tried: [...request.tried, failed], now: request.now + withinMs };
  const step: Step = { step: 'restart', what, because: decision.because };
  return { decision: decideRecovery(next, settings), request: next, steps: [step] };
}

/** Broken pods alone that find no room, where a smaller job would. */
function passPods(decision: Undated<RecoveryDecision>, request: Request, facts: PlanFacts, settings: WorkerSettings): Level {
  const stop = stopOf(facts, decision, settings);
  const next = stop && judgeRoom(facts, stop.plan, stop.by, settings)?.wholeJobNext;
  if (!next) return { decision, facts };
  const { because, capacity } = next;
  const tried = [...request.tried, { level: 'pod', because, noRoom: true } as const];
  return {
    decision: decideRecovery({ ...request, tried }, settings),
    facts: { ...facts, capacity },
    passed: { step: 'capacity', what: 'the broken pods alone find none: the whole job', because },
  };
}
