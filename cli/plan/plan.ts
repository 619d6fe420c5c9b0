/** Plans what kcover would do now: takes the worker's own decisions, one after the other, from the facts. Pure. */

import { formatDuration } from '../../contract/settings/duration.ts';
import { recoveryRequested } from '../../contract/faults/faults.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { CapacityDecision } from '../../contract/recovery/plan.ts';
import type { RecoveryDecision } from '../../contract/recovery/recovery.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { IncidentDecision } from '../../contract/job/training-job.ts';
import type { NodeDecision } from '../../contract/wire/activities.ts';
import type { Undated } from '../../policy/decision.ts';
import { decideIncident } from '../../policy/incident/incident.ts';
import type { PlanInput } from './facts.ts';
import { judgeHypothetical } from './hypothetical-node.ts';
import { reachLevel } from './levels.ts';
import { type PlanStep, stepsOf } from './steps.ts';

/** The decisions as the worker would record them, without time and settings. */
export interface PlanDecisions {
  readonly node?: Undated<NodeDecision>;
  readonly incident?: Undated<IncidentDecision>;
  readonly recovery?: Undated<RecoveryDecision>;
  readonly capacity?: Undated<CapacityDecision>;
}

export interface PlanReport {
  /** `stops`: pods would be stopped. `holds`: nothing is done until something changes. `nothing`: nothing is to be done. */
  readonly does: 'stops' | 'holds' | 'nothing';
  readonly because: string;
  readonly remedy?: string;
  /** In order. */
  readonly steps: readonly PlanStep[];
  /** Overrides of the job that are ignored, a sentence each. */
  readonly ignored: readonly string[];
  readonly decisions: PlanDecisions;
}

type Reason = Pick<PlanReport, 'because' | 'remedy'>;

export function planOf(given: PlanInput, settings: WorkerSettings): PlanReport {
  const { job } = given.attempt;
  const end = (
    does: PlanReport['does'],
    { because, remedy: advice }: Reason,
    steps: readonly PlanStep[] = [],
    decisions: PlanDecisions = {},
  ): PlanReport => ({
    does,
    because,
    ...(advice !== undefined && { remedy: advice }),
    steps,
    ignored: job.overrides?.ignored ?? [],
    decisions,
  });
  if (!job.optedIn)
    return end('nothing', {
      because: 'the job is not opted in',
      remedy: `kcover start ${jobTitle(job.ref)} -n ${job.ref.namespace}`,
    });

  const { facts, steps: quarantine, decision: node, concerns } = judgeHypothetical(given, settings);
  if (node && !concerns) return end('nothing', node, quarantine, { node });
  const decided = node ? { node } : {};

  const opening = open(facts, settings);
  const firstSteps = [...quarantine, ...opening.steps];
  const { decision: incident } = opening;
  if (incident && incident.kind !== 'open') return end(opening.does, opening, firstSteps, { ...decided, incident });

  const { recovery, steps: before, level } = reachLevel(facts, opening.now, settings);
  const soFar: PlanDecisions = { ...decided, ...(incident && { incident }), recovery };
  if (recovery.kind === 'go-on') return end('nothing', recovery, [...firstSteps, ...before], soFar);
  const { steps, capacity, holds } = stepsOf(level, settings);
  const decisions = { ...soFar, ...(capacity && { capacity }) };
  const all = [
    ...firstSteps,
    ...before,
    ...(recovery.kind === 'end' ? steps.map((step) => ({ ...step, otherwise: true as const })) : steps),
  ];
  const plan = recovery.kind === 'hold' ? undefined : recovery.plan;
  const made = (does: PlanReport['does'], reason: Reason): PlanReport => ({
    ...end(does, reason, all, decisions),
    ignored: plan?.ignored ?? job.overrides?.ignored ?? [],
  });
  if (recovery.kind === 'hold') return made('holds', recovery);
  if (recovery.kind === 'end') return made('nothing', recovery);
  return holds ? made('holds', holds) : made('stops', recovery);
}

interface Opening extends Reason {
  readonly does: PlanReport['does'];
  /** Missing when a recovery is already open. */
  readonly decision?: Undated<IncidentDecision>;
  readonly steps: readonly PlanStep[];
  /** When the incident would be opened, ms: after all waits. */
  readonly now: number;
}

/** Upper bound of consecutive waits, so that the loop ends. */
const mostWaits = 5;

/** Whether the faults open a recovery. Each wait becomes a step, and is assumed to pass. */
function open(facts: PlanInput, settings: WorkerSettings): Opening {
  const { job } = facts.attempt;
  const { fresh, usage, attemptStartedAt, historyUntil, paused, open: already } = facts.known;
  const at = Date.parse(facts.at);
  if (already) return { does: 'stops', because: `${already.incident} is open`, steps: [], now: at };
  const faults = [...fresh, ...(facts.hypothetical ? [facts.hypothetical] : [])];
  const asked = faults.find(({ code }) => code === recoveryRequested);
  const steps: PlanStep[] = [];
  for (let now = at; ;) {
    const decision = decideIncident(
      {
        job: job.ref,
        faults: faults.filter(({ code }) => code !== recoveryRequested),
        usage,
        optedInAt: job.optedInAt,
        since: Math.min(at, ...faults.map(({ seenAt }) => Date.parse(seenAt))),
        now,
        ...(asked && { askedBy: { by: asked.message.split(' asked: ')[0] ?? 'a person', reason: 'kcover recover' } }),
        ...(attemptStartedAt !== undefined && { attemptStartedAt }),
        ...(historyUntil !== undefined && { historyUntil }),
        ...(job.progress && { progress: job.progress }),
        ...(job.overrides && { overrides: job.overrides }),
        ...(paused && { paused }),
      },
      settings,
    );
    if (decision.kind !== 'wait' || decision.until <= now || steps.length >= mostWaits)
      return { ...closing(decision, facts), decision, steps, now };
    steps.push({
      step: 'wait',
      what: `${formatDuration(decision.until - now)}, until ${new Date(decision.until).toISOString()}`,
      because: decision.because,
    });
    now = decision.until;
  }
}

function closing(
  decision: Undated<IncidentDecision>,
  { attempt: { job } }: PlanInput,
): Pick<Opening, 'does' | 'because' | 'remedy'> {
  const { because } = decision;
  const command = (word: string): string => `kcover ${word} ${jobTitle(job.ref)} -n ${job.ref.namespace}`;
  switch (decision.kind) {
    case 'open':
    case 'wait':
      return { does: 'stops', because };
    case 'refuse':
      return {
        does: 'nothing',
        because: `refused until ${new Date(decision.until).toISOString()}: ${because}`,
        remedy: decision.remedy,
      };
    case 'nothing':
      return { does: 'nothing', because };
    case 'paused':
      return { does: 'holds', because, remedy: command('resume') };
  }
}
