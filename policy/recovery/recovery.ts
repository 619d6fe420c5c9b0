import type { Fault } from '../../contract/faults/faults.ts';
import { overrideAnnotations } from '../../contract/job/job-overrides.ts';
import type { JobView, StopMethod } from '../../contract/job/jobs.ts';
import type { Outcome } from '../../contract/recovery/outcomes.ts';
import {
  type AttemptFacts,
  podCount,
  type RecoveryDecision,
  type RecoveryFacts,
  successAfterStop,
} from '../../contract/recovery/recovery.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { blameOf } from '../incident/blame.ts';
import type { Undated } from '../decision.ts';
import { faultsSentence } from '../../contract/faults/sentence.ts';
import { jobPolicy } from '../job/policy.ts';
import { whyNotNeeded } from '../incident/need.ts';
import { planStop } from './plan.ts';
import { whyNotRecoverable } from './recoverable.ts';

type Decision = Undated<RecoveryDecision>;

/**
 * The next step of a recovery: stop the attempt, hold, keep waiting, or end.
 * Checked in this order: whether the job is still to be recovered, whether it needs a stop, whether that is allowed, whether it must wait.
 */
export function decideRecovery(facts: RecoveryFacts, settings: WorkerSettings): Decision {
  return { ...nextStep(facts, settings), blame: blameOf([...facts.fresh, ...facts.handled]) };
}

function nextStep(facts: RecoveryFacts, settings: WorkerSettings): Decision {
  const { job, unobservable } = facts.attempt;
  if (unobservable !== undefined)
    return {
      kind: 'hold',
      because: `unobservable: ${unobservable}`,
      remedy: 'check that kcover-worker reaches the Kubernetes API and Temporal',
      lookAgainMs,
      unobservable: true,
    };
  if (job === undefined) return end('cancelled', 'the job object is gone');
  return (
    noLongerWanted(facts, job) ??
    notNeeded(facts, settings) ??
    notAllowed(facts, job, settings) ??
    notYet(facts, settings) ??
    stop(facts, job, settings)
  );
}

function noLongerWanted(
  { attempt: { succeeded }, stops, stoppedBy }: RecoveryFacts,
  job: JobView,
): Decision | undefined {
  if (job.finished?.as === 'failed') return end('failed', `its own controller failed the job: ${job.finished.because}`);
  if (job.finished && stops > 0 && stoppedBy !== undefined) {
    const { outcome, because } = successAfterStop(job.finished.because, stoppedBy);
    return end(outcome, because);
  }
  if (job.finished) return end('cancelled', `the job succeeded: ${job.finished.because}`);
  if (succeeded !== undefined)
    return end(
      'cancelled',
      `${succeeded} has succeeded, which completes the job; its own controller has not reported that yet`,
    );
  if (!job.optedIn) return end('cancelled', 'the job was opted out');
  if (job.suspension?.by === 'owner') return end('cancelled', 'the job is suspended by its owner');
  return undefined;
}

/** A restart that a person requested is done once, needed or not. */
function notNeeded(facts: RecoveryFacts, { recovery }: WorkerSettings): Decision | undefined {
  const { attempt, stops, asked } = facts;
  if (asked && stops === 0) return undefined;
  const because = whyNotNeeded(facts, jobPolicy(attempt.job?.overrides, recovery).hang === 'recover');
  if (because === undefined) return undefined;
  return stops > 0
    ? { kind: 'go-on', because: `what was observed since the stop does not affect the new attempt: ${because}` }
    : end('cancelled', because);
}

function notAllowed(facts: RecoveryFacts, job: JobView, settings: WorkerSettings): Decision | undefined {
  const { attempts, stops, asked, fresh, handled, attempt } = facts;
  const why = whyNotRecoverable(job, settings);
  if (why) return end('refused', why.because, why.remedy);
  if (stops >= attempts)
    return end(
      'escalated',
      `stopped ${stops} times in this incident and not running: ${faultsSentence([...fresh, ...handled])}`,
    );
  // A person's request covers one stop; the mode applies to later ones.
  if (asked && stops === 0) return undefined;
  const isOff = jobPolicy(job.overrides, settings.recovery).mode === 'off';
  if (settings.mode !== 'observe' && !isOff) return undefined;
  const would = `would stop ${podCount(attempt)} pods by ${stopMethod(job, settings) ?? 'nothing'}: ${faultsSentence(fresh)}`;
  const { plan } = planStop(facts, job, settings.recovery);
  if (settings.mode === 'observe')
    return { ...end('refused', `mode is observe; ${would}`, 'set mode: act, or kcover recover'), plan };
  return {
    ...end(
      'refused',
      `mode of the job is off; ${would}`,
      `set the annotation ${overrideAnnotations.mode}: grace, or kcover recover`,
    ),
    plan,
  };
}

/** New pods must not be able to land on a bad node, so quarantine comes before any stop. */
function notYet(
  { attempt, fresh, handled, heldMs = 0 }: RecoveryFacts,
  settings: WorkerSettings,
): Decision | undefined {
  if (attempt.paused) {
    return {
      kind: 'hold',
      because: `paused by ${attempt.paused.by}: ${attempt.paused.reason}`,
      remedy: 'kcover resume',
    };
  }
  const [undecided] = attempt.undecided;
  if (undecided) {
    return {
      kind: 'hold',
      because: `the workflow of ${undecided.node} has not decided yet: ${undecided.because}`,
      remedy: 'kcover node list',
      lookAgainMs,
    };
  }
  const unobserved = fresh.find((fault) => fault.unobservable !== undefined);
  if (
    unobserved &&
    fresh.every((fault) => fault.unobservable !== undefined) &&
    heldMs < settings.recovery.silentAgent
  ) {
    return {
      kind: 'hold',
      because: `unobservable: ${unobserved.unobservable}, so it is unknown whether the node is bad`,
      remedy: 'check kcover-agent on that node',
      lookAgainMs,
    };
  }
  for (const fault of [...fresh, ...handled]) {
    const open = openNode(fault, attempt);
    if (open !== undefined)
      return { kind: 'hold', because: open, remedy: `kcover node quarantine ${fault.node ?? '<node>'} --reason "..."` };
  }
  return undefined;
}

/** A node's workflow signals a quarantine, but not a decision against one, so the recovery polls. The interval doubles while it lasts. */
const lookAgainMs = 1000;

function openNode(fault: Fault, attempt: AttemptFacts): string | undefined {
  // Kubernetes itself keeps new pods off a node that is not ready; once it is ready, it may take pods again.
  if (fault.node === undefined || (fault.quarantine?.state !== 'quarantined' && fault.quarantine?.state !== 'held'))
    return undefined;
  const node = attempt.nodes.find((one) => one.name === fault.node);
  // A node that is gone takes no pods.
  if (node === undefined || node.taint !== undefined) return undefined;
  return `${fault.node} is not quarantined: ${fault.quarantine.because}`;
}

function stop(facts: RecoveryFacts, job: JobView, settings: WorkerSettings): Decision {
  const by = stopMethod(job, settings);
  if (by === undefined) return end('refused', `there is no way to stop ${job.ref.kind} without failing it`);
  const because =
    facts.fresh.length > 0 ? faultsSentence(facts.fresh) : (facts.tried?.at(-1)?.because ?? 'a person requested it');
  const { plan, inProcess } = planStop(facts, job, settings.recovery);
  if (inProcess) {
    const { beyond, withinMs } = inProcess;
    return {
      kind: 'hold',
      because: `${because}; ${inProcess.because}`,
      remedy: 'wait: if that does not help, the pods are restarted, unless kcover pause prevents it',
      inProcess: { beyond, withinMs },
    };
  }
  return { kind: 'stop', by, plan, because };
}

/** The preferred way of its kind, or another that the job allows. */
export const stopMethod = (job: JobView, settings: Pick<WorkerSettings, 'recovery'>): StopMethod | undefined => {
  const preferred = settings.recovery.stop[job.ref.kind];
  return job.canStopBy.includes(preferred) ? preferred : job.canStopBy[0];
};

const end = (outcome: Outcome, because: string, advice?: string): Extract<Decision, { kind: 'end' }> => ({
  kind: 'end',
  outcome,
  because,
  ...(advice === undefined ? {} : { remedy: advice }),
});
