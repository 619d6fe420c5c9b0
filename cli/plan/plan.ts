/** Plans what kcover would do now: runs the machines of its workflows from the facts, with the policy's decisions and assumed answers. */

import { jobTitle } from '../../contract/job/jobs.ts';
import type { IncidentDecision } from '../../contract/job/training-job.ts';
import type { CapacityDecision } from '../../contract/recovery/plan.ts';
import type { RecoveryDecision, RecoveryInput } from '../../contract/recovery/recovery.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { NodeDecision } from '../../contract/wire/activities.ts';
import type { Undated } from '../../policy/decision.ts';
import { limitsOf } from '../../policy/incident/incident.ts';
import { stopMethod } from '../../policy/recovery/recovery.ts';
import { firstState, type RecoveryState } from '../../workflows/recovery/state.ts';
import type { CapacityLook } from './assumptions.ts';
import type { PlanInput } from './facts.ts';
import { planIncident, verdictOf } from './incident.ts';
import { planNode } from './node.ts';
import { planRecovery, type PlanStep, type Verdict } from './recovery.ts';

/** The decisions as the worker would record them, without time and settings. */
export interface PlanDecisions {
  readonly node?: Undated<NodeDecision>;
  readonly incident?: Undated<IncidentDecision>;
  /** The last one. */
  readonly recovery?: Undated<RecoveryDecision>;
  readonly capacity?: Undated<CapacityDecision>;
}

export interface PlanReport extends Verdict {
  /** In order. */
  readonly steps: readonly PlanStep[];
  /** What the steps assume of the cluster, of training and of people, a sentence each. */
  readonly assumed: readonly string[];
  /** Overrides of the job that are ignored, a sentence each. */
  readonly ignored: readonly string[];
  readonly decisions: PlanDecisions;
}

export async function planOf(
  given: PlanInput,
  settings: WorkerSettings,
  look = readCapacity(given),
): Promise<PlanReport> {
  const { job } = given.attempt;
  if (!job.optedIn) {
    const remedy = `kcover start ${jobTitle(job.ref)} -n ${job.ref.namespace}`;
    const because = 'the job is not opted in';
    return { ...nothingYet(given), does: 'nothing', because, remedy };
  }
  const report = await runMachines(given, settings, look);
  const { recovery } = report.decisions;
  if (recovery?.kind !== 'end' || !recovery.plan) return report;
  // Refused by the mode of kcover or of the job: what would be done without it.
  const other = await runMachines(withoutMode(given), { ...settings, mode: 'act' }, look);
  const otherwise = other.steps.filter(({ step }) => step !== 'quarantine' && step !== 'wait');
  return {
    ...report,
    steps: [...report.steps, ...otherwise.map((step) => ({ ...step, otherwise: true as const }))],
    assumed: [...new Set([...report.assumed, ...other.assumed])],
    ignored: recovery.plan.ignored,
  };
}

const nothingYet = ({ attempt: { job } }: PlanInput) => ({
  steps: [],
  assumed: [],
  ignored: job.overrides?.ignored ?? [],
  decisions: {},
});

/** From the node to the proof. */
async function runMachines(given: PlanInput, settings: WorkerSettings, look: CapacityLook): Promise<PlanReport> {
  const node = planNode(given, settings);
  const { facts, assumed } = node;
  const report = { ...nothingYet(given), assumed, steps: node.steps };
  if (node.decision && !node.isReported) {
    const { because, remedy } = node.decision;
    const decisions = { node: node.decision };
    return { ...report, does: 'nothing', because, ...(remedy !== undefined && { remedy }), decisions };
  }
  const at = Date.parse(facts.at);
  const incident = facts.known.open ? undefined : planIncident(facts, settings);
  const steps = [...node.steps, ...(incident?.steps ?? [])];
  const before = { ...(node.decision && { node: node.decision }), ...(incident && { incident: incident.decision }) };
  if (incident && !incident.input)
    return { ...report, ...verdictOf(facts, incident.decision), steps, decisions: before };
  const first = incident?.input ? firstState(incident.input, incident.at) : openState(facts, settings, at);
  const start = { attempt: facts.attempt, settings, at: incident?.at ?? at, look };
  const { notes, ...planned } = await planRecovery(first, start);
  const { recovery, capacity } = notes;
  const plan = recovery?.kind === 'stop' ? recovery.plan : undefined;
  return {
    ...planned,
    steps: [...steps, ...planned.steps],
    assumed: [...assumed, ...notes.assumed],
    ignored: plan?.ignored ?? report.ignored,
    decisions: { ...before, ...(recovery && { recovery }), ...(capacity && { capacity }) },
  };
}

/** The open recovery: what its history shows of its state. */
function openState(
  { attempt: { job }, known, hypothetical, at }: PlanInput,
  settings: WorkerSettings,
  now: number,
): RecoveryState {
  const { fresh, handled, paused, open = { incident: '', stops: 0, attempts: 0, asked: false } } = known;
  const input: RecoveryInput = {
    incident: open.incident,
    job: job.ref,
    faults: [...handled, ...fresh, ...(hypothetical ? [hypothetical] : [])],
    limits: { ...limitsOf(settings.recovery), attempts: open.attempts },
    ...(open.asked && { askedBy: { by: 'a person', reason: 'kcover recover' } }),
    ...(paused && { paused }),
  };
  const by = stopMethod(job, settings) ?? 'pods';
  return {
    ...firstState(input, now),
    handled: handled.map(({ id }) => id),
    stops: Array.from({ length: open.stops }, (_, index) => ({ attempt: index + 1, by, at, pods: [] })),
    stopsStarted: open.stops,
    progress: open.stops > 0 && job.progress ? { before: job.progress } : {},
  };
}

/** The capacity among the facts: that of the first look, and that of another. Without the first one capacity is taken to be there. */
function readCapacity({ capacity, capacityOfAll }: PlanInput): CapacityLook {
  let first: 'pods' | 'all' | undefined;
  return async (pods) => {
    const which = pods ? 'pods' : 'all';
    first ??= which;
    return which === first ? capacity : capacityOfAll;
  };
}

const withoutMode = (given: PlanInput): PlanInput => {
  const { job } = given.attempt;
  if (job.overrides?.mode !== 'off') return given;
  return { ...given, attempt: { ...given.attempt, job: { ...job, overrides: { ...job.overrides, mode: 'grace' } } } };
};
