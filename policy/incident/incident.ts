import { formatDuration } from '../../contract/settings/duration.ts';
import { type Fault, isNoticedLine, noStepInLog, trainingHangs, trainingSlow } from '../../contract/faults/faults.ts';
import type { HangResponse, JobSuppression } from '../../contract/job/job-overrides.ts';
import { faultsSentence } from '../../contract/faults/sentence.ts';
import { traitsOf } from '../../contract/faults/sources.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { RecoveryLimits } from '../../contract/recovery/recovery.ts';
import type {
  RequestedBy,
  BudgetAttribution,
  IncidentDecision,
  IncidentFacts,
} from '../../contract/job/training-job.ts';
import { blameOf } from './blame.ts';
import { judgeBudget, judgeLabel } from './budget.ts';
import type { Undated } from '../decision.ts';
import { jobPolicy } from '../job/policy.ts';
import { whySuppressed } from '../node/suppression.ts';

const isOfPod = ({ source }: Fault): boolean => traitsOf(source).about === 'pod';

/** Whether the faults of a job open an incident now, later, or not at all. */
export function decideIncident(facts: IncidentFacts, settings: WorkerSettings): Undated<IncidentDecision> {
  const { recovery } = settings;
  const policy = jobPolicy(facts.overrides, recovery);
  const dismissed = facts.faults.flatMap((fault) => {
    const because = whyNothing(fault, facts) ?? suppressedBecause(fault, facts, policy.suppression, settings);
    if (because !== undefined) return [{ id: fault.id, because }];
    if (isNoticedLine(fault)) return [{ id: fault.id, because: fault.message, notify: 'line' as const }];
    if (isHistory(fault, facts))
      return [{ id: fault.id, because: `${fault.message}, at ${fault.seenAt}`, notify: 'history' as const }];
    if (fault.code === trainingSlow) return [{ id: fault.id, because: fault.message, notify: 'slow' as const }];
    if (fault.code === noStepInLog) return [notifyOnly(fault, policy.hang === 'ignore' ? 'ignore' : 'notify')];
    return fault.code === trainingHangs && policy.hang !== 'recover' ? [notifyOnly(fault, policy.hang)] : [];
  });
  const limits = limitsOf(recovery);
  const progress = reached(facts.progress);
  const pending = facts.faults.filter((fault) => !dismissed.some((one) => one.id === fault.id));
  if (facts.askedBy)
    return onRequest(facts, facts.askedBy, { limits, dismissed, progress, hasFaults: pending.length > 0 }, settings);

  if (pending.length === 0)
    return { kind: 'nothing', dismissed, because: dismissed[0]?.because ?? 'no fault is waiting' };
  const because = faultsSentence(pending);
  if (facts.paused)
    return {
      kind: 'paused',
      dismissed,
      because: `paused by ${facts.paused.by}: ${facts.paused.reason}; waiting: ${because}`,
    };

  const unobservable = pending.find((fault) => fault.unobservable !== undefined)?.unobservable;
  const seen = facts.since + recovery.silentAgent;
  if (unobservable !== undefined && pending.every(isOfPod) && seen > facts.now) {
    return {
      kind: 'wait',
      until: seen,
      dismissed,
      because: `unobservable: ${unobservable}, so it is unknown whether the node is bad; waiting: ${because}`,
    };
  }
  const correlated = facts.since + recovery.correlation;
  if (pending.every(({ source }) => traitsOf(source).mayPrecede !== undefined) && correlated > facts.now) {
    const what = traitsOf((pending.find(isOfPod) ?? pending[0])?.source ?? 'pod').mayPrecede;
    return { kind: 'wait', until: correlated, dismissed, because: `${because}; ${what} may follow` };
  }
  // The blame is decided only after the correlation window: a fault that explains a pod failure may arrive later.
  const blame = blameOf(pending);
  const budget = judgeBudget(
    { usage: facts.usage, blame, progress: facts.progress, now: facts.now },
    { ...recovery.budget, ...(policy.retries !== undefined && { user: policy.retries }) },
  );
  if (budget.kind === 'exhausted') {
    return {
      kind: 'refuse',
      until: budget.until,
      dismissed,
      because: `${budget.because}; waiting: ${because}`,
      remedy: recoverCommand(facts),
    };
  }
  if (budget.kind === 'back-off')
    return { kind: 'wait', until: budget.until, dismissed, because: `${budget.because}; waiting: ${because}` };

  return {
    kind: 'open',
    limits,
    attribution: { blame, ...progress },
    dismissed,
    because:
      unobservable === undefined
        ? because
        : `${because}; ${unobservable}, and nothing else was reported within ${formatDuration(recovery.silentAgent)}`,
  };
}

/** Deadlines of a recovery that starts under these settings. */
export const limitsOf = ({
  attempts,
  deadlines,
  overdue,
  evidence,
  verify,
}: WorkerSettings['recovery']): RecoveryLimits => ({
  attempts,
  holdMs: deadlines.hold,
  stopMs: deadlines.stop,
  restartMs: deadlines.restart,
  placementMs: deadlines.placement,
  overdue,
  evidenceMs: evidence.within,
  verify: { firstMs: verify.first, stallMs: verify.stall, mostMs: verify.most },
});

/** Evidence for requests by label is captured once in this time, ms: repeated labels would fill the store otherwise. */
const labelEvidenceMs = 10 * 60_000;

interface OnRequest {
  readonly limits: RecoveryLimits;
  readonly dismissed: IncidentDecision['dismissed'];
  readonly progress: Pick<BudgetAttribution, 'step' | 'checkpointStep'>;
  readonly hasFaults: boolean;
}

/** A person's request is always done; a request by label has a budget. */
function onRequest(
  facts: IncidentFacts,
  asked: RequestedBy,
  { limits, dismissed, progress, hasFaults }: OnRequest,
  { recovery }: WorkerSettings,
): Undated<IncidentDecision> {
  const because = `${asked.by} asked: ${asked.reason}`;
  if (asked.byLabel !== true)
    return { kind: 'open', limits, attribution: { asked: true, ...progress }, dismissed, because };
  const budget = judgeLabel(facts, recovery.budget);
  if (budget.kind === 'exhausted') {
    return {
      kind: 'refuse',
      request: true,
      until: budget.until,
      dismissed,
      because: `${budget.because}; refused: ${because}`,
      remedy: recoverCommand(facts),
    };
  }
  const attribution = { asked: true, byLabel: true, ...progress } as const;
  const isKept =
    !hasFaults && facts.usage.some((one) => one.byLabel === true && one.startedAt > facts.now - labelEvidenceMs);
  if (!isKept || limits.evidenceMs === 0) return { kind: 'open', limits, attribution, dismissed, because };
  const why = `no evidence is captured: the last request by label is less than ${formatDuration(labelEvidenceMs)} old`;
  return { kind: 'open', limits: { ...limits, evidenceMs: 0 }, attribution, dismissed, because: `${because}; ${why}` };
}

const recoverCommand = ({ job }: IncidentFacts): string =>
  `kcover recover ${jobTitle(job)} -n ${job.namespace} --reason "..."`;

/** Suppressions of the settings, which may name jobs, then that of the job itself. */
function suppressedBecause(
  fault: Fault,
  { job, now }: IncidentFacts,
  own: JobSuppression | undefined,
  { faults }: WorkerSettings,
): string | undefined {
  const title = `${job.namespace}/${job.name}`;
  const because = whySuppressed(
    fault,
    own ? [...faults.suppressions, { ...own, owner: title }] : faults.suppressions,
    now,
    title,
  );
  return because && `${fault.code}: ${because}`;
}

/** The hang is only reported in an Event. */
const notifyOnly = ({ id, message }: Fault, response: HangResponse): IncidentDecision['dismissed'][number] =>
  response === 'ignore'
    ? { id, because: `${message}; hang: ignore` }
    : { id, because: `${message}; hang: notify`, notify: 'hang' };

/** Stored with a recovery, so that the next one can tell whether training has advanced. */
const reached = (progress: JobProgress | undefined): Pick<BudgetAttribution, 'step' | 'checkpointStep'> =>
  progress
    ? { step: progress.step, ...(progress.checkpointStep !== undefined && { checkpointStep: progress.checkpointStep }) }
    : {};

/** A step this long after a failure cannot have been in progress then, ms. Also allows for clock skew. */
export const movedOnMs = 5 * 60_000;

/** Why a fault needs no recovery; undefined if it does. */
function whyNothing(fault: Fault, { optedInAt, attemptStartedAt, progress }: IncidentFacts): string | undefined {
  if (fault.quarantine?.state === 'released') return `${fault.node ?? 'its node'} was released`;
  if (fault.pod === undefined) return undefined;
  if (progress !== undefined && Date.parse(progress.at) > Date.parse(fault.seenAt) + movedOnMs)
    return `training has moved on since ${fault.pod.name} failed`;
  if (attemptStartedAt !== undefined && Date.parse(fault.pod.createdAt) < Date.parse(attemptStartedAt))
    return `${fault.pod.name} belonged to an earlier attempt`;
  // Container times are whole seconds, so an exit in the same second as the opt-in counts.
  if (Date.parse(fault.seenAt) < Math.floor(Date.parse(optedInAt) / 1000) * 1000)
    return `${fault.pod.name} ended before the job was opted in`;
  return undefined;
}

/**
 * Failures from before kcover first saw the job, as after an install or with another Temporal namespace, may be resolved since.
 * A person can still request a recovery.
 */
const isHistory = ({ pod, seenAt }: Fault, { historyUntil }: IncidentFacts): boolean =>
  pod !== undefined && historyUntil !== undefined && Date.parse(seenAt) < Date.parse(historyUntil);

/** Nodes on which pods failed, where no fault of the node itself is known. At most this many are asked. */
const mostAsked = 20;
export function nodesInDoubt(faults: readonly Fault[]): readonly string[] {
  const explained = new Set(faults.flatMap(({ pod, node }) => (pod === undefined && node !== undefined ? [node] : [])));
  const nodes = faults.flatMap(({ pod, node }) =>
    pod !== undefined && node !== undefined && !explained.has(node) ? [node] : [],
  );
  return [...new Set(nodes)].slice(0, mostAsked);
}

/** Those faults of nodes that were seen after a pod that failed there was created: older ones did not end it. */
export function faultsBehind(failures: readonly Fault[], ofNodes: readonly Fault[]): readonly Fault[] {
  const isBehind = (fault: Fault, { pod, node }: Fault): boolean =>
    pod !== undefined &&
    node !== undefined &&
    node === fault.node &&
    Date.parse(fault.seenAt) >= Date.parse(pod.createdAt);
  // A fault of one job, such as that of its preflight, reaches that job from the node.
  return ofNodes.filter((fault) => fault.job === undefined && failures.some((failure) => isBehind(fault, failure)));
}
