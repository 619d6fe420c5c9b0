import { type Fault, nodeNotReady, trainingHangs } from '../contract/faults.ts';
import { wishAnnotations } from '../contract/job-wishes.ts';
import type { AttemptPod, JobView, StopMethod } from '../contract/jobs.ts';
import type { AttemptFacts, Outcome, RecoveryDecision, RecoveryFacts } from '../contract/recovery.ts';
import type { WorkerSettings } from '../contract/settings.schema.ts';
import { blameOf } from './blame.ts';
import type { Undated } from './decision.ts';
import { describeFaults } from './incident.ts';
import { jobPolicy } from './job-policy.ts';
import { planStop } from './plan.ts';
import { whyNotRecoverable } from './recoverable.ts';

type Decision = Undated<RecoveryDecision>;

/**
 * The next step of a recovery: stop the attempt, hold, go on waiting, or end.
 * The order is the rule: whether the job still wants it, whether it still needs it, whether it may, and only then how.
 */
export function decideRecovery(facts: RecoveryFacts, settings: WorkerSettings): Decision {
  return { ...nextStep(facts, settings), blame: blameOf([...facts.fresh, ...facts.answered]) };
}

function nextStep(facts: RecoveryFacts, settings: WorkerSettings): Decision {
  const { job, blind } = facts.attempt;
  if (blind !== undefined)
    return {
      kind: 'hold',
      because: `blind: ${blind}`,
      try: 'look at the Kubernetes API and at Temporal, as kcover-worker reaches them',
      lookAgainMs,
      blind: true,
    };
  if (job === undefined) return end('cancelled', 'the job object is gone');
  return noLongerWanted(job) ?? notNeeded(facts, settings) ?? notAllowed(facts, job, settings) ?? notYet(facts, settings) ?? stop(facts, job, settings);
}

function noLongerWanted(job: JobView): Decision | undefined {
  if (job.finished?.as === 'failed') return end('failed', `its own controller failed the job: ${job.finished.because}`);
  if (job.finished) return end('cancelled', `the job succeeded: ${job.finished.because}`);
  if (!job.optedIn) return end('cancelled', 'the job was opted out');
  if (job.suspension?.by === 'owner') return end('cancelled', 'the job is suspended by its owner');
  return undefined;
}

/**
 * A node fault needs nothing once no pod of the job is on that node; the fault of a pod always needs the others restarted.
 * A pod that was asked to go leaves by itself, but for one on a node that was not ready: its job cannot go on alone.
 */
function notNeeded({ attempt, fresh, stops, asked, tried = [] }: RecoveryFacts, { recovery }: WorkerSettings): Decision | undefined {
  if (asked && stops === 0) return undefined;
  const isOn = (node: string | undefined, pods: readonly AttemptPod[] = []): boolean => pods.some((pod) => pod.node === node);
  const leaves = (fault: Fault) => fault.code === nodeNotReady && isOn(fault.node, attempt.leaving);
  const isBack = (fault: Fault) => fault.code === nodeNotReady && !leaves(fault) && attempt.nodes.some((node) => node.name === fault.node && node.ready);
  const recoversHangs = jobPolicy(attempt.job?.wishes, recovery).hang === 'recover';
  const isOver = (fault: Fault) => fault.hold?.state === 'released' || (fault.code === trainingHangs && hasMovedOn(fault, attempt.job));
  // A gentler level did not bring training back.
  if (tried.some(({ noRoom }) => !noRoom) && !(fresh.length > 0 && fresh.every(isOver))) return undefined;
  const touches = (fault: Fault) =>
    fault.pod !== undefined || (fault.code === trainingHangs && recoversHangs) || leaves(fault) || (isOn(fault.node, attempt.pods) && !isBack(fault));
  const needed = fresh.some((fault) => !isOver(fault) && touches(fault));
  if (needed) return undefined;
  if (stops > 0) return { kind: 'go-on', because: 'what was seen since the stop does not touch the new attempt' };
  if (fresh.some((fault) => fault.code === trainingHangs))
    return end('cancelled', fresh.some(isOver) ? 'training goes on' : 'training stands still, and people were told');
  const where = listed(blamed(fresh)) || 'the node';
  return end('cancelled', fresh.some(isBack) ? `${where} is ready again` : `no pod of the job is left on ${where}`);
}

/** Its trainer has told of a step since. */
const hasMovedOn = ({ seenAt }: Fault, job: JobView | undefined): boolean => Date.parse(job?.progress?.at ?? '') > Date.parse(seenAt);

function notAllowed(facts: RecoveryFacts, job: JobView, settings: WorkerSettings): Decision | undefined {
  const { attempts, stops, asked, fresh, answered, attempt } = facts;
  const why = whyNotRecoverable(job);
  if (why) return end('refused', why.because, why.try);
  if (stops >= attempts) return end('handed over', `stopped ${stops} times in this incident and not running: ${describeFaults([...fresh, ...answered])}`);
  // A person's word is for one stop: what comes after it is the mode's again.
  if (asked && stops === 0) return undefined;
  const isOff = jobPolicy(job.wishes, settings.recovery).mode === 'off';
  if (settings.mode !== 'observe' && !isOff) return undefined;
  const would = `would stop ${attempt.pods.length} pods by ${stopMethod(job, settings) ?? 'nothing'}: ${describeFaults(fresh)}`;
  const { plan } = planStop(facts, job, settings.recovery);
  if (settings.mode === 'observe') return { ...end('refused', `mode is observe; ${would}`, 'set mode: act, or kcover recover'), plan };
  return { ...end('refused', `mode of the job is off; ${would}`, `set the annotation ${wishAnnotations.mode}: grace, or kcover recover`), plan };
}

/** New pods must not be able to land on a bad node, so quarantine comes before any stop. */
function notYet({ attempt, fresh, answered, heldMs = 0 }: RecoveryFacts, settings: WorkerSettings): Decision | undefined {
  if (attempt.paused) {
    return { kind: 'hold', because: `paused by ${attempt.paused.by}: ${attempt.paused.reason}`, try: 'kcover resume' };
  }
  const [undecided] = attempt.undecided;
  if (undecided) {
    return { kind: 'hold', because: `${undecided.node} is being judged: ${undecided.because}`, try: 'kcover node list', lookAgainMs };
  }
  const unheard = fresh.find((fault) => fault.blind !== undefined);
  if (unheard && fresh.every((fault) => fault.blind !== undefined) && heldMs < settings.recovery.blind) {
    return { kind: 'hold', because: `blind: ${unheard.blind}, so nobody knows whether the node is bad`, try: 'look at kcover-agent there', lookAgainMs };
  }
  for (const fault of [...fresh, ...answered]) {
    const open = openNode(fault, attempt);
    if (open !== undefined) return { kind: 'hold', because: open, try: `kcover node quarantine ${fault.node ?? '<node>'} --reason "..."` };
  }
  return undefined;
}

/** A node's workflow tells the jobs when it quarantines, and nobody when it does not. Doubles while it lasts. */
const lookAgainMs = 1000;

function openNode(fault: Fault, attempt: AttemptFacts): string | undefined {
  // Kubernetes itself keeps a node free that is not ready; once it is ready again, it may take pods again.
  if (fault.node === undefined || (fault.hold?.state !== 'quarantined' && fault.hold?.state !== 'held')) return undefined;
  const node = attempt.nodes.find((one) => one.name === fault.node);
  // A node that is gone takes no pods.
  if (node === undefined || node.taint !== undefined) return undefined;
  return `${fault.node} is not quarantined: ${fault.hold.because}`;
}

function stop(facts: RecoveryFacts, job: JobView, settings: WorkerSettings): Decision {
  const by = stopMethod(job, settings);
  if (by === undefined) return end('refused', `there is no way to stop ${job.ref.kind} without failing it`);
  const because = facts.fresh.length > 0 ? describeFaults(facts.fresh) : (facts.tried?.at(-1)?.because ?? 'a person asked for it');
  const { plan, inProcess } = planStop(facts, job, settings.recovery);
  if (inProcess) {
    const { beyond, withinMs } = inProcess;
    return {
      kind: 'hold',
      because: `${because}; ${inProcess.because}`,
      try: 'wait: pods are restarted when that does not help, unless kcover pause prevents it',
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

const blamed = (faults: readonly Fault[]): string[] => [...new Set(faults.flatMap((fault) => fault.node ?? []))].toSorted();
const listed = (names: readonly string[]): string => names.join(', ');

const end = (outcome: Outcome, because: string, advice?: string): Extract<Decision, { kind: 'end' }> => ({
  kind: 'end',
  outcome,
  because,
  ...(advice === undefined ? {} : { try: advice }),
});
