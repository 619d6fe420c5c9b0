/** What would be done now: the worker's own decisions, one after the other, over facts. Pure. */

import { formatDuration } from '../../contract/duration.ts';
import { jobTitle } from '../../contract/jobs.ts';
import type { CapacityDecision } from '../../contract/recovery-plan.ts';
import type { RecoveryDecision } from '../../contract/recovery.ts';
import type { WorkerSettings } from '../../contract/settings.schema.ts';
import type { IncidentDecision } from '../../contract/training-job.ts';
import type { NodeDecision } from '../../contract/activities.ts';
import type { Undated } from '../../policy/decision.ts';
import { decideIncident } from '../../policy/incident.ts';
import type { PlanFacts } from './facts.ts';
import { judgeImagined } from './imagined-node.ts';
import { reachLevel } from './levels.ts';
import { type Step, stepsOf } from './steps.ts';

/** The decisions as the worker would record them, but for time and settings. */
export interface Decisions {
  readonly node?: Undated<NodeDecision>;
  readonly incident?: Undated<IncidentDecision>;
  readonly recovery?: Undated<RecoveryDecision>;
  readonly capacity?: Undated<CapacityDecision>;
}

export interface Plan {
  /** `stops`: pods would be stopped. `holds`: nothing until something changes. `nothing`: that is all. */
  readonly does: 'stops' | 'holds' | 'nothing';
  readonly because: string;
  readonly try?: string;
  /** In their order. */
  readonly steps: readonly Step[];
  /** Wishes of the job that do not count, a sentence each. */
  readonly ignored: readonly string[];
  readonly decisions: Decisions;
}

type Reason = Pick<Plan, 'because' | 'try'>;

export function planOf(given: PlanFacts, settings: WorkerSettings): Plan {
  const { job } = given.attempt;
  const end = (does: Plan['does'], { because, try: advice }: Reason, steps: readonly Step[] = [], decisions: Decisions = {}): Plan => ({
    does,
    because,
    ...(advice !== undefined && { try: advice }),
    steps,
    ignored: job.wishes?.ignored ?? [],
    decisions,
  });
  if (!job.optedIn) return end('nothing', { because: 'the job is not opted in', try: `kcover start ${jobTitle(job.ref)} -n ${job.ref.namespace}` });

  const { facts, steps: quarantine, decision: node, concerns } = judgeImagined(given, settings);
  if (node && !concerns) return end('nothing', node, quarantine, { node });
  const decided = node ? { node } : {};

  const opening = open(facts, settings);
  const begun = [...quarantine, ...opening.steps];
  const { decision: incident } = opening;
  if (incident && incident.kind !== 'open') return end(opening.does, opening, begun, { ...decided, incident });

  const { recovery, steps: before, level } = reachLevel(facts, opening.now, settings);
  const soFar: Decisions = { ...decided, ...(incident && { incident }), recovery };
  if (recovery.kind === 'go-on') return end('nothing', recovery, [...begun, ...before], soFar);
  const { steps, capacity, holds } = stepsOf(level, settings);
  const decisions = { ...soFar, ...(capacity && { capacity }) };
  const all = [...begun, ...before, ...(recovery.kind === 'end' ? steps.map((step) => ({ ...step, otherwise: true as const })) : steps)];
  const plan = recovery.kind === 'hold' ? undefined : recovery.plan;
  const made = (does: Plan['does'], reason: Reason): Plan => ({ ...end(does, reason, all, decisions), ignored: plan?.ignored ?? job.wishes?.ignored ?? [] });
  if (recovery.kind === 'hold') return made('holds', recovery);
  if (recovery.kind === 'end') return made('nothing', recovery);
  return holds ? made('holds', holds) : made('stops', recovery);
}

interface Opening extends Reason {
  readonly does: Plan['does'];
  /** Missing where a recovery is open already. */
  readonly decision?: Undated<IncidentDecision>;
  readonly steps: readonly Step[];
  /** When it would be opened, ms: what has to be waited for has passed. */
  readonly now: number;
}

/** A wait ends by itself; more than these in a row there are not. */
const mostWaits = 5;

/** Whether the faults open a recovery; waits are steps, and time is taken to pass. */
function open(facts: PlanFacts, settings: WorkerSettings): Opening {
  const { job } = facts.attempt;
  const { fresh, spent, attemptStartedAt, historyUntil, paused, open: already } = facts.known;
  const at = Date.parse(facts.at);
  if (already) return { does: 'stops', because: `${already.incident} is open`, steps: [], now: at };
  const faults = [...fresh, ...(facts.imagined ? [facts.imagined] : [])];
  const asked = faults.find(({ source }) => source === 'operator');
  const steps: Step[] = [];
  for (let now = at; ;) {
    const decision = decideIncident(
      {
        job: job.ref,
        faults: faults.filter(({ source }) => source !== 'operator'),
        spent,
        optedInAt: job.optedInAt,
        since: Math.min(at, ...faults.map(({ seenAt }) => Date.parse(seenAt))),
        now,
        ...(asked && { askedBy: { by: asked.message.split(' asked: ')[0] ?? 'a person', reason: 'kcover recover' } }),
        ...(attemptStartedAt !== undefined && { attemptStartedAt }),
        ...(historyUntil !== undefined && { historyUntil }),
        ...(job.progress && { progress: job.progress }),
        ...(job.wishes && { wishes: job.wishes }),
        ...(paused && { paused }),
      },
      settings,
    );
    if (decision.kind !== 'wait' || decision.until <= now || steps.length >= mostWaits) return { ...closing(decision, facts), decision, steps, now };
    steps.push({ step: 'wait', what: `${formatDuration(decision.until - now)}, until ${new Date(decision.until).toISOString()}`, because: decision.because });
    now = decision.until;
  }
}

function closing(decision: Undated<IncidentDecision>, { attempt: { job } }: PlanFacts): Pick<Opening, 'does' | 'because' | 'try'> {
  const { because } = decision;
  const command = (word: string): string => `kcover ${word} ${jobTitle(job.ref)} -n ${job.ref.namespace}`;
  switch (decision.kind) {
    case 'open':
    case 'wait':
      return { does: 'stops', because };
    case 'refuse':
      return { does: 'nothing', because: `refused until ${new Date(decision.until).toISOString()}: ${because}`, try: decision.try };
    case 'nothing':
      return { does: 'nothing', because };
    case 'paused':
      return { does: 'holds', because, try: command('resume') };
  }
}
