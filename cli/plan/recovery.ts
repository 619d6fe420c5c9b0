/** The machine of a recovery, run phase by phase with assumed answers until it ends or is held; what each phase does is a step of the plan. */

import type { JobView } from '../../contract/job/jobs.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import { restartMs } from '../../workflows/recovery/attempt-transitions.ts';
import type { RecoveryEvent } from '../../workflows/recovery/events.ts';
import { podsOf } from '../../workflows/recovery/incident.ts';
import { type Running, runPhase } from '../../workflows/recovery/run-phase.ts';
import type { In, RecoveryState, Stopping } from '../../workflows/recovery/state.ts';
import { type StepName, steps } from '../../workflows/recovery/steps/index.ts';
import { recoveryTransitions } from '../../workflows/recovery/transitions.ts';
import { Machine } from '../../workflows/state-machine.ts';
import { assumedTools, type Notes, type StartingPoint } from './assumptions.ts';

export interface PlanStep {
  readonly step: StepName | 'quarantine' | 'repair' | 'wait' | 'stop' | 'restart' | 'verify';
  readonly what: string;
  readonly because: string;
  /** Not done now; it shows what would be done otherwise, for example in mode `act`. */
  readonly otherwise?: true;
}

export interface Verdict {
  /** `stops`: pods would be stopped. `holds`: nothing is done until something changes. `nothing`: nothing is to be done. */
  readonly does: 'stops' | 'holds' | 'nothing';
  readonly because: string;
  readonly remedy?: string;
}

interface PlannedRecovery extends Verdict {
  readonly steps: readonly PlanStep[];
  readonly notes: Notes;
}

/** Far above the number of phases between two stops. */
const mostPhases = 200;

export async function planRecovery(first: RecoveryState, start: StartingPoint): Promise<PlannedRecovery> {
  const machine = new Machine<RecoveryState, RecoveryEvent>(recoveryTransitions, first);
  const notes: Notes = { assumed: new Set() };
  const running: Running = {
    get state() {
      return machine.state;
    },
    dispatch: (event) => machine.dispatch({ ...event, at: running.tools.now() }),
    announceAll: () => undefined,
    tools: assumedTools(start, notes, () => running),
  };
  const done: PlanStep[] = [];
  for (let phases = 0; machine.state.phase !== 'ending' && machine.state.shown.phase !== 'held'; phases += 1) {
    if (phases >= mostPhases) throw new Error(`no end after ${mostPhases} phases, in ${machine.state.phase}`);
    const before = machine.state;
    await runPhase(running);
    done.push(...stepsOf(before, machine.state, start.attempt.job));
  }
  return { ...verdictOf(first, machine.state, notes), steps: done, notes };
}

function verdictOf(first: RecoveryState, { shown, stops, timeline }: RecoveryState, { recovery }: Notes): Verdict {
  const because = recovery?.because ?? '';
  if (shown.phase === 'held')
    return {
      does: 'holds',
      because: timeline.findLast(({ what }) => what === 'held')?.because ?? because,
      remedy: shown.waitingFor,
    };
  if (stops.length > first.stops.length) return { does: 'stops', because };
  return { does: 'nothing', because, ...(recovery?.kind === 'end' && recovery.remedy && { remedy: recovery.remedy }) };
}

/** What one phase has done. */
function stepsOf(before: RecoveryState, after: RecoveryState, job: JobView): readonly PlanStep[] {
  switch (before.phase) {
    case 'preparing':
      return visited(before, after, before.step);
    case 'stopping':
      return after.phase === 'stopping' && after.stop && !before.stop ? [stop(after, after.stop)] : [];
    case 'between-attempts':
      return visited(before, after);
    case 'starting':
      return [restart(before, job), ...(after.phase === 'ending' ? [unverified(after)] : [])];
    case 'verifying':
      return [verify(before)];
    default:
      return [];
  }
}

/** The rows of one step before the stop, or of all steps between it and the next attempt. */
function visited(
  { decision, facts, ...before }: In<'preparing'> | In<'between-attempts'>,
  after: RecoveryState,
  only?: StepName,
): PlanStep[] {
  return steps.flatMap(({ name, between, planned }) => {
    if (only === undefined ? !between : name !== only) return [];
    const line = planned?.({
      decision,
      facts,
      before: { incident: before, own: before.steps[name] },
      after: { incident: after, own: after.steps[name] },
    });
    return line ? [{ step: name, ...line }] : [];
  });
}

function stop({ decision }: In<'stopping'>, { by, pods }: Stopping): PlanStep {
  const grace = decision.plan?.force ? ', without a grace period' : '';
  const what = by === 'pods' ? `${pods.map(({ name }) => name).join(', ')} alone` : `${podsOf(pods.length)} by ${by}`;
  return { step: 'stop', what: `${what}${grace}`, because: decision.because };
}

function restart(state: In<'starting'>, job: JobView): PlanStep {
  const count = state.steps.resize.resized?.after ?? job.podsExpected;
  const last = state.decisions.at(-1);
  return {
    step: 'restart',
    what: `all ${podsOf(count)} ready within ${formatDuration(restartMs(state))}, none on a quarantined node`,
    because: (last?.kind === 'stop' ? last.plan?.level.because : last?.because) ?? 'all pods restart together',
  };
}

const unverified = ({ end }: In<'ending'>): PlanStep => ({ step: 'verify', what: 'nothing', because: end.because });

function verify({ input: { limits }, beyond }: In<'verifying'>): PlanStep {
  const { firstMs, mostMs } = limits.verify ?? { firstMs: 0, mostMs: 0 };
  const what = `a first step within ${formatDuration(firstMs)}, one beyond ${beyond} within ${formatDuration(mostMs)}`;
  return { step: 'verify', what, because: 'a job is recovered only when training makes progress' };
}
