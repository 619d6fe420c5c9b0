/** The level at which a recovery would stop the job: what it tries or passes over before is a step. Pure. */

import { formatDuration } from '../../contract/duration.ts';
import type { RecoveryDecision, RecoveryFacts } from '../../contract/recovery.ts';
import type { WorkerSettings } from '../../contract/settings.schema.ts';
import type { Undated } from '../../policy/decision.ts';
import { decideRecovery } from '../../policy/recovery.ts';
import type { PlanFacts } from './facts.ts';
import { judgeRoom } from './judge-room.ts';
import { type Step, stopOf } from './steps.ts';

export interface Reached {
  readonly recovery: Undated<RecoveryDecision>;
  /** Of the levels before. */
  readonly steps: readonly Step[];
  /** With the room that this level looks at. */
  readonly facts: PlanFacts;
}

export function reachLevel(facts: PlanFacts, now: number, settings: WorkerSettings): Reached {
  const { fresh, answered, open: already } = facts.known;
  const all = [...fresh, ...(facts.imagined ? [facts.imagined] : [])];
  const asked = already?.asked ?? all.some(({ source }) => source === 'operator');
  const attempts = already?.attempts ?? settings.recovery.attempts;
  const request = { attempt: facts.attempt, fresh: all, answered, stops: already?.stops ?? 0, attempts, asked, now };
  return passPods(passProcesses({ ...request, tried: [] }, facts, settings), settings);
}

interface Reaching extends Reached {
  readonly request: RecoveryFacts & Required<Pick<RecoveryFacts, 'tried' | 'now'>>;
}

/** A try inside the processes is taken to fail. */
function passProcesses(request: Reaching['request'], facts: PlanFacts, settings: WorkerSettings): Reaching {
  const recovery = decideRecovery(request, settings);
  if (recovery.kind !== 'hold' || !recovery.inProcess) return { recovery, steps: [], facts, request };
  const { beyond, withinMs } = recovery.inProcess;
  const what = `training inside its processes; a step beyond ${beyond} within ${formatDuration(withinMs)}`;
  const failed = { level: 'process', because: 'training did not go on inside its processes' } as const;
  const next = { ...request, tried: [...request.tried, failed], now: request.now + withinMs };
  return { recovery: decideRecovery(next, settings), steps: [{ step: 'restart', what, because: recovery.because }], facts, request: next };
}

function passPods(reached: Reaching, settings: WorkerSettings): Reached {
  const { recovery, steps, facts, request } = reached;
  const stop = stopOf(facts, recovery, settings);
  const because = stop && judgeRoom(facts, stop.plan, stop.by, settings)?.wholeJobNext;
  if (because === undefined) return reached;
  const next = { ...request, tried: [...request.tried, { level: 'pod', because, noRoom: true } as const] };
  const passed: Step = { step: 'capacity', what: 'the broken pods alone find none: the whole job', because };
  const { capacity: _, ...others } = facts;
  const room = facts.capacityOfAll && { capacity: facts.capacityOfAll };
  return { recovery: decideRecovery(next, settings), steps: [...steps, passed], facts: { ...others, ...room } };
}
