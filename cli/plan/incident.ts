/** The machine of the job's workflow, from faults that wait to the recovery that it starts. Each wait is assumed to pass without a change. Pure. */

import { recoveryRequested } from '../../contract/faults/faults.ts';
import { recoveryId } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { IncidentDecision } from '../../contract/job/training-job.ts';
import type { RecoveryInput } from '../../contract/recovery/recovery.ts';
import { formatDuration, iso } from '../../contract/settings/duration.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Undated } from '../../policy/decision.ts';
import { decideIncident } from '../../policy/incident/incident.ts';
import { incidentOf } from '../../workflows/job/incident.ts';
import { factsOf, needsProgress, recoveryInputOf } from '../../workflows/job/incident-facts.ts';
import { overridesIn } from '../../workflows/job/look.ts';
import { firstState, type JobState } from '../../workflows/job/state.ts';
import { type JobEvent, jobTransitions } from '../../workflows/job/transitions.ts';
import { nextState } from '../../workflows/state-machine.ts';
import type { PlanInput } from './facts.ts';
import type { PlanStep, Verdict } from './recovery.ts';

interface PlannedIncident {
  readonly decision: Undated<IncidentDecision>;
  readonly steps: readonly PlanStep[];
  /** When it is decided, ms: after all waits. */
  readonly at: number;
  /** Of the recovery that is started; missing when none is. */
  readonly input?: RecoveryInput;
}

/** Upper bound of consecutive waits, so that the loop ends. */
const mostWaits = 5;

export function planIncident(facts: PlanInput, settings: WorkerSettings): PlannedIncident {
  const { job } = facts.attempt;
  const { ref } = job;
  const steps: PlanStep[] = [];
  let at = Date.parse(facts.at);
  let state = firstJobState(facts, at);
  for (;;) {
    const asked = state.open?.askedBy;
    const about = factsOf({ job: ref, state, view: needsProgress(state) ? job : undefined, asked, now: at });
    const found = (facts.known.found ?? []).filter(({ id }) => !about.faults.some((fault) => fault.id === id));
    const decision = decideIncident({ ...about, faults: [...about.faults, ...found] }, settings);
    state = next(state, {
      kind: 'decided',
      decision: { ...decision, ...(found.length > 0 && { found }), settings: '', at },
      revision: state.revision,
      about: state.open?.incident,
      asked,
      overrides: about.overrides,
      incident: state.open?.incident ?? recoveryId(ref, at),
      at,
    });
    if (state.phase === 'opening') return { decision, steps, at, input: recoveryInputOf(ref, state) };
    if (state.phase !== 'waiting' || steps.length >= mostWaits) return { decision, steps, at };
    const { until, because } = state;
    steps.push({ step: 'wait', what: `${formatDuration(until - at)}, until ${iso(until)}`, because });
    at = until;
    state = next(state, { kind: 'waitEnded', at });
  }
}

const next = (state: JobState, event: JobEvent): JobState => nextState(jobTransitions, state, event);

function firstJobState({ attempt: { job }, known, hypothetical }: PlanInput, at: number): JobState {
  const all = [...known.fresh, ...(hypothetical ? [hypothetical] : [])];
  const asked = all.find(({ code }) => code === recoveryRequested);
  const faults = all.filter((fault) => fault !== asked);
  const { usage, attemptStartedAt, historyUntil, paused } = known;
  const by = asked?.message.split(' asked: ')[0] ?? 'a person';
  return {
    ...firstState(at),
    phase: 'deciding',
    optedInAt: job.optedInAt,
    ...(historyUntil !== undefined && { historyUntil }),
    inbox: faults,
    waitingSince: Math.min(at, ...faults.map(({ seenAt }) => Date.parse(seenAt))),
    judgedAt: at,
    usage,
    attemptStartedAt,
    overrides: overridesIn(job),
    paused,
    ...(asked && { open: incidentOf(recoveryId(job.ref, at), at, { by, reason: 'kcover recover' }) }),
  };
}

/** What the plan says where no recovery begins. */
export function verdictOf({ attempt: { job } }: PlanInput, decision: Undated<IncidentDecision>): Verdict {
  const { kind, because } = decision;
  if (kind === 'refuse')
    return { does: 'nothing', because: `refused until ${iso(decision.until)}: ${because}`, remedy: decision.remedy };
  if (kind === 'paused')
    return { does: 'holds', because, remedy: `kcover resume ${jobTitle(job.ref)} -n ${job.ref.namespace}` };
  return { does: kind === 'wait' ? 'holds' : 'nothing', because };
}
