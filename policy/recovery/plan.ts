import { formatDuration } from '../../contract/settings/duration.ts';
import { traitsOf } from '../../contract/faults/sources.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import type { AttemptPod, JobView } from '../../contract/job/jobs.ts';
import type {
  Approval,
  CapacityPlan,
  CheckpointPlan,
  RecoveryLevel,
  RecoveryPlan,
  Severity,
  WavePlan,
} from '../../contract/recovery/plan.ts';
import { podCount, type RecoveryFacts } from '../../contract/recovery/recovery.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { type JobPolicy, jobPolicy } from '../job/policy.ts';
import { severityOf } from '../incident/severity.ts';
import { chooseTiming } from './timing.ts';

type Recovery = WorkerSettings['recovery'];

/** What planning decides from: the facts of the recovery, with a job that exists. */
interface Planning {
  readonly facts: RecoveryFacts;
  readonly job: JobView;
  readonly policy: JobPolicy;
  readonly settings: Recovery;
  readonly severity: Severity;
}

/** The processes are asked to restart training in place before anything is stopped. */
export interface InProcess {
  readonly beyond: number;
  readonly withinMs: number;
  readonly because: string;
}

/** The plan around one stop, or the in-process attempt that needs none. */
export function planStop(
  facts: RecoveryFacts,
  job: JobView,
  settings: Recovery,
): { readonly plan: RecoveryPlan; readonly inProcess?: InProcess } {
  const policy = jobPolicy(job.overrides, settings);
  const { severity } = severityOf([...facts.fresh, ...facts.handled], facts.attempt);
  const planning = { facts, job, policy, settings, severity };
  const inProcess = tryProcesses(planning);
  const approval = askFirst(planning);
  const capacity = capacityPlanFor(planning);
  const wave = waveFor(planning);
  return {
    plan: {
      severity,
      level: levelOf(planning),
      ...(policy.mode === 'force' && { force: true as const }),
      ...(approval && { approval }),
      checkpoint: saveFirst(planning),
      ...(capacity && { capacity }),
      ...(wave && { wave }),
      ...(settings.capacity.priorityClass !== undefined && { priorityClass: settings.capacity.priorityClass }),
      ignored: policy.ignored,
    },
    ...(inProcess && { inProcess }),
  };
}

const isTried = ({ facts }: Planning, level: 'process' | 'pod'): boolean =>
  facts.stops > 0 || (facts.tried ?? []).some((one) => one.level === level);

/** Only where no node is to blame, because pods must leave a bad node, and where progress shows whether training continues. */
function tryProcesses(planning: Planning): InProcess | undefined {
  const { facts, job, policy, settings } = planning;
  if (policy.level !== 'process' || facts.asked || isTried(planning, 'process') || job.progress === undefined)
    return undefined;
  if (facts.fresh.some(blamesNode)) return undefined;
  const withinMs = settings.levels.process;
  return {
    beyond: job.progress.step,
    withinMs,
    because: `its processes have ${formatDuration(withinMs)} to pass step ${job.progress.step} by themselves`,
  };
}

const blamesNode = ({ source, node }: Fault): boolean => node !== undefined && traitsOf(source).about !== 'pod';

/** Source: Ascend's Volcano plugin and ModelArts, which both restart the broken pods alone first, and the whole job at once when rank 0 is among them. */
function levelOf(planning: Planning): RecoveryLevel {
  const { facts, job, policy, settings } = planning;
  const whole = (because: string): RecoveryLevel => ({ name: 'job', because });
  const before = facts.tried?.at(-1);
  if (policy.level === 'job') return whole('all pods restart together');
  if (isTried(planning, 'pod')) return whole(before?.because ?? 'the pods alone were tried');
  if (facts.asked) return whole('a person requested the whole job');
  if (!job.canStopBy.includes('delete-collection'))
    return whole(`the controller of ${job.ref.kind} does not replace single pods`);
  const { pods } = facts.attempt;
  const broken = brokenPods(facts);
  if (broken.length === 0) return whole('no single pod is to blame');
  if (pods[0] && broken.includes(pods[0])) return whole(`${pods[0].name} is the leading pod`);
  const all = podCount(facts.attempt);
  if (broken.length * 2 > all) return whole(`${broken.length} of ${all} pods are broken`);
  const more = broken.length > 5 ? ` and ${broken.length - 5} more` : '';
  const names = `${broken
    .slice(0, 5)
    .map(({ name }) => name)
    .join(', ')}${more}`;
  return {
    name: 'pod',
    pods: broken.map(({ uid }) => uid),
    withinMs: settings.levels.pod,
    because: `${names} first, the whole job when that does not help`,
  };
}

/** Failed pods, and pods on blamed nodes. */
function brokenPods({ attempt, fresh }: RecoveryFacts): AttemptPod[] {
  const nodes = new Set(fresh.filter(blamesNode).map(({ node }) => node));
  const uids = new Set(fresh.map(({ pod }) => pod?.uid));
  return attempt.pods.filter(({ uid, node }) => uids.has(uid) || (node !== undefined && nodes.has(node)));
}

/** A person who requested a recovery has approved its first stop. */
function askFirst({ facts, job, settings, severity }: Planning): Approval | undefined {
  const from = settings.approval[severity];
  // The GPUs of a TrainJob may be defined in its runtime, which kcover does not read.
  const gpus = job.gpus ?? (job.ref.kind === 'TrainJob' ? undefined : 0);
  if (from === undefined || (facts.asked && facts.stops === 0) || (gpus !== undefined && gpus < from)) return undefined;
  const { within, otherwise } = settings.approval;
  return {
    because: `the job is ${severity} and holds ${gpus ?? 'an unknown number of'} GPUs: an approval is needed from ${from} GPUs on`,
    withinMs: within,
    otherwise,
  };
}

function saveFirst({ facts, job, policy, settings, severity }: Planning): CheckpointPlan {
  const none = (because: string): CheckpointPlan => ({ strategy: 'none', because });
  const { progress } = job;
  if (policy.checkpoint === 'none') return none('strategy none: stop without a checkpoint');
  if (facts.asked) return none('a person requested it now');
  if (facts.stops > 0) return none('this attempt was not verified to train');
  if (severity === 'dead') return none('it no longer trains, so no checkpoint would come');
  if (progress === undefined) return none('its progress is not known');
  if (policy.checkpoint === 'on-termination') {
    const withinMs = settings.checkpoint.acknowledged;
    return {
      strategy: 'on-termination',
      atLeast: progress.step,
      withinMs,
      because: `it saves step ${progress.step} on termination`,
    };
  }
  const gpus = job.gpus ?? podCount(facts.attempt);
  const now = facts.now ?? 0;
  const most = Math.min(settings.checkpoint.most, leftUntilDeadline(facts, now));
  const { choice, ...chosen } = chooseTiming({ severity, progress, gpus, now }, { ...settings.checkpoint, most });
  const { timing, because, withinMs, stallMs } = chosen;
  if (choice === 'now') return { strategy: 'none', because, ...(timing.nextInMs > 0 && { timing }) };
  return { strategy: 'fresh', beyond: progress.checkpointStep ?? progress.step, withinMs, stallMs, because, timing };
}

/** A stop takes its time, so the wait ends so long before the node may be taken away, ms. */
const stopBeforeMs = 2 * 60_000;

/** A node that is still there so long after its deadline is not taken away, ms. */
const notTakenMs = 30 * 60_000;

/** How long the job may stay where it is, ms. */
function leftUntilDeadline({ fresh }: RecoveryFacts, now: number): number {
  const deadlines = fresh.flatMap(({ deadline }) => (deadline === undefined ? [] : [Date.parse(deadline)]));
  return Math.max(0, Math.min(...deadlines.filter((at) => at > now - notTakenMs)) - now - stopBeforeMs);
}

/** Without an allowed size from the job, it keeps its size. A recovery that a person requested is not held: without capacity the pods stay pending. */
function capacityPlanFor({ facts, job, policy, settings, severity }: Planning): CapacityPlan | undefined {
  if (!settings.capacity.check) return undefined;
  const { minReplicas, allowedSizes } = job.overrides ?? {};
  const least = minReplicas ?? allowedSizes?.at(-1) ?? job.podsExpected;
  const isOrdered = facts.asked && facts.stops === 0;
  return {
    choice: isOrdered ? 'restart' : severity === 'dead' ? policy.dead : policy.short,
    least,
    ...(allowedSizes && { allowedSizes }),
  };
}

/** What a person requested begins at once. */
function waveFor({ facts, settings: { waves } }: Planning): WavePlan | undefined {
  const storm = facts.fresh.map(({ quarantine }) => quarantine?.storm).find((one) => one !== undefined);
  if (storm === undefined || facts.asked) return undefined;
  return {
    rule: { pods: waves.pods, everyMs: waves.every },
    withinMs: waves.most,
    because: `several nodes have one cause (${storm}): their jobs restart in waves of ${waves.pods} pods`,
  };
}
