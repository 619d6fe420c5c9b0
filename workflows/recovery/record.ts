/** What remains of a recovery: the report to its job, and the record of the incident. Pure. */

import { iso } from '../../contract/settings/duration.ts';
import type { IncidentRecord, RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import { forcedEver } from './incident.ts';
import { answersOf } from './questions.ts';
import { podTrimmer, withoutManyPods } from './record-pods.ts';
import type { In } from './state.ts';
import { recordOfSteps } from './steps/index.ts';

type Over = In<'recording'> | In<'ended'>;

export function reportOf({
  input,
  end,
  covered,
  stops,
  stopsStarted,
  decisions,
  progress: { before },
}: Over): RecoveryOutcome {
  const { outcome, because, attemptStartedAt } = end;
  // The blame of all faults, from the last decision.
  const { blame } = decisions.at(-1) ?? {};
  return {
    incident: input.incident,
    outcome,
    because,
    stops: stops.length,
    stopsStarted,
    ...(blame && { blame }),
    ...(before && { before }),
    faults: covered,
    ...(attemptStartedAt !== undefined && { attemptStartedAt }),
  };
}

/** Pods of large attempts are listed once, and then only counted. */
export function recordOf(state: Over): IncidentRecord {
  const { input, end, faults, decisions, gpus, optedInAt, phases, progress, timeline } = state;
  const keep = podTrimmer();
  const stops = state.stops.map(({ forced, ...stop }) => ({
    ...stop,
    ...keep(stop.pods),
    ...(forced && { forced: keep(forced).pods }),
  }));
  const { pods: runningPods, of: runningOf } = keep(end.pods ?? [], end.podsOf);
  const { pods: forced, of: forcedOf } = keep(forcedEver(state));
  const answers = answersOf(state.questions);
  return {
    schema: 1,
    incident: input.incident,
    job: input.job,
    outcome: end.outcome,
    because: end.because,
    startedAt: iso(state.startedAt),
    endedAt: iso(state.endedAt),
    ...(gpus !== undefined && { gpus }),
    ...(optedInAt !== undefined && { optedInAt }),
    phases,
    faults,
    decisions: decisions.map(withoutManyPods),
    stops,
    runningPods,
    ...(runningOf !== undefined && { runningOf }),
    ...(forced.length > 0 && { forced }),
    ...(forcedOf !== undefined && { forcedOf }),
    ...(progress.before && { progress }),
    ...recordOfSteps(state.steps),
    timeline,
    ...(answers.length > 0 && { approvals: answers }),
  };
}
