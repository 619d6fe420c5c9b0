/** Sends the stop of an attempt: once, and only while the decision behind it is fresh. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import { Context } from '@temporalio/activity';
import { formatDuration } from '../../contract/settings/duration.ts';
import { KcoverError } from '../../contract/errors.ts';
import { type AttemptPod, jobTitle, type JobView } from '../../contract/job/jobs.ts';
import type { StopRequest, StopResult } from '../../contract/recovery/recovery.ts';
import { isConflict, isForbidden, isNotFound } from '../../kube/client/errors.ts';
import { readJob, suspendJob } from '../../kube/jobs/jobs.ts';
import type { ObservationClock } from '../../kube/client/observation-clock.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import {
  attemptPod,
  belongsTo,
  deleteMatchingPods,
  deletePod,
  isTerminating,
  listMatchingPods,
  podsOfJob,
} from '../../kube/pods/pods.ts';
import type { Dependencies } from '../dependencies.ts';
import { heartbeatNow } from '../heartbeats.ts';
import { pauseOfCluster, pauseOfJob } from '../pause.ts';
import { remainingPods } from './remaining-pods.ts';

/** What a later try of the activity must know. */
export interface StopHeartbeat {
  /** Write requests sent, including those of earlier tries whose heartbeats arrived. */
  requests: number;
}

/**
 * `interfered`: nothing was done, because the job or its pods are not those of the decision. `unsent`: nothing was done, because it was not
 * allowed, or not possible in time. `timed-out`: it was sent in part, and its deadline has passed.
 */
export type NotSent = Extract<StopResult, { kind: 'interfered' | 'unsent' | 'timed-out' }>;
const interfered = (because: string): NotSent => ({ kind: 'interfered', because });

/** Older decisions are not sent: the cluster, the settings or a pause may have changed since. ms */
const freshMs = 30_000;

/** Pause between tries, ms. */
const pauseMs = 1000;

/** An operator writes the status of a job several times in a row; after this many conflicts the recovery decides again. */
const mostConflicts = 10;

interface Sending {
  readonly dependencies: Dependencies;
  readonly request: StopRequest;
  readonly progress: StopHeartbeat;
  /** Stopped while the cluster cannot be observed. */
  readonly clock: ObservationClock;
  /** No request of this stop was sent before, by this try of the activity or an earlier one. */
  readonly isFirst: boolean;
  /** Called right before every write, except the rest of a stop that took effect; returns why it may not be sent. */
  readonly whyNot: () => Promise<NotSent | undefined>;
}

/**
 * Tries until it is sent, or its decision is too old. Undefined: it was sent, now or before. If it is unknown whether an earlier request
 * took effect, it keeps looking until the deadline of the stop, which does not pass while the cluster cannot be observed.
 */
export async function sendStop(
  dependencies: Dependencies,
  request: StopRequest,
  progress: StopHeartbeat,
  clock: ObservationClock,
): Promise<NotSent | undefined> {
  const { info, cancellationSignal: signal } = Context.current();
  let why = 'no worker started it';
  for (let tries = 1; ; tries++) {
    const isFirst = tries === 1 && info.attempt === 1;
    const whyNot = () => whyNotSent(dependencies, request, { isFirst, why });
    try {
      return await send[request.by]({ dependencies, request, progress, clock, isFirst, whyNot });
    } catch (error) {
      if (signal.aborted || !(error instanceof KcoverError) || !error.transient) throw error;
      why = error.because;
      dependencies.log.warn(
        { incident: request.incident, job: request.job, code: error.code, because: why },
        'the stop could not be sent',
      );
      const isDoubtful = progress.requests > 0 || info.attempt > 1;
      const late = isDoubtful ? undefined : tooOld(dependencies, request, why);
      if (late) return late;
      if (isOver(clock, request)) throw error;
      await sleep(error.retryAfterMs ?? pauseMs, undefined, { signal }).catch(() => undefined);
      signal.throwIfAborted();
    }
  }
}

const ageOf = ({ now }: Pick<Dependencies, 'now'>): number => now() - Context.current().info.scheduledTimestampMs;

/** A look shows whether the cluster can be observed. A refused write does not, so the deadline counts on. */
async function observed<T>(clock: ObservationClock, look: Promise<T>): Promise<T> {
  try {
    const seen = await look;
    clock.regained();
    return seen;
  } catch (error) {
    clock.lost();
    throw error;
  }
}

/** Whether the deadline of a stop that may have begun has passed. */
const isOver = (clock: ObservationClock, { deadlineMs }: StopRequest): boolean =>
  clock.time() >= Math.max(Context.current().info.scheduledTimestampMs + deadlineMs, clock.lateFrom);

function tooOld(dependencies: Dependencies, request: StopRequest, why: string): NotSent | undefined {
  const age = ageOf(dependencies);
  if (age < Math.min(freshMs, request.deadlineMs)) return undefined;
  return {
    kind: 'unsent',
    because: `decided ${formatDuration(Math.round(age / 1000) * 1000)} ago and could not be sent: ${why}`,
  };
}

async function whyNotSent(
  dependencies: Dependencies,
  request: StopRequest,
  { isFirst, why }: { isFirst: boolean; why: string },
): Promise<NotSent | undefined> {
  // The settings of this worker may be newer than the decision.
  if (dependencies.settings.mode === 'observe' && !request.asked) return { kind: 'unsent', because: 'mode is observe' };
  const late = tooOld(dependencies, request, why);
  if (late || isFirst) return late;
  const paused = (await pauseOfCluster(dependencies)) ?? (await pauseOfJob(dependencies, request.job));
  return paused && { kind: 'unsent', because: `paused by ${paused.by}: ${paused.reason}` };
}

const send = {
  suspend,
  'delete-collection': deleteAttempt,
  // Each pod is named by its UID, so changes since the look cannot matter.
  pods: deleteLeft,
} as const satisfies Record<StopRequest['by'], (sending: Sending) => Promise<NotSent | undefined>>;

/** Whether the job carries the mark of this stop. */
export const isSuspendedBy = (
  { incident, attempt }: StopRequest,
  { suspension }: Pick<JobView, 'suspension'>,
): boolean => suspension?.by === 'kcover' && suspension.incident === incident && suspension.attempt === attempt;

/** Looks for our own mark first: after a lost answer, the job no longer has the resource version of the look. */
async function suspend({ dependencies, request, progress, clock, whyNot }: Sending): Promise<NotSent | undefined> {
  const { kube, settings } = dependencies;
  const title = jobTitle(request.job);
  for (let conflicts = 0; conflicts < mostConflicts; conflicts++) {
    const job = await observed(clock, readJob(kube, request.job, settings.quarantine.taint));
    if (!job) return interfered(`${title} is gone`);
    const { suspension, resourceVersion } = job;
    if (isSuspendedBy(request, job)) return undefined;
    if (suspension)
      return interfered(
        suspension.by === 'owner'
          ? `${title} was suspended by its owner`
          : `${title} is suspended by ${suspension.incident}`,
      );
    if (resourceVersion !== request.resourceVersion && !(await isSameAttempt(kube, job, request)))
      return interfered(`${title} changed since it was looked at`);
    const why = await whyNot();
    if (why) return why;
    try {
      progress.requests += 1;
      await suspendJob(kube, { ...request, resourceVersion });
      return undefined;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) continue;
      // The look showed that the job runs, and a refused write changes nothing: there is no doubt whether it was stopped.
      const late = isForbidden(error) ? tooOld(dependencies, request, error.because) : undefined;
      if (late) return late;
      throw error;
    }
  }
  return interfered(`another client keeps changing ${title}`);
}

/**
 * Whether only the status changed, such as the counts after a pod failed: then the decision still holds.
 * The pods are listed after the version was read, so that a later attempt either shows here or causes a conflict on write.
 */
async function isSameAttempt(kube: Dependencies['kube'], job: JobView, request: StopRequest): Promise<boolean> {
  // Without pods, this attempt cannot be distinguished from a later one whose pods are about to be created.
  if (request.pods.length === 0 || job.finished || !job.optedIn || !job.canStopBy.includes('suspend')) return false;
  return sameSet((await podsOfJob(kube, request.job)).present, request.pods);
}

/** One delete-collection, once; what remains uncertain is looked at, and deleted one by one by UID. */
async function deleteAttempt(sending: Sending): Promise<NotSent | undefined> {
  const { request, progress, isFirst, whyNot } = sending;
  const { kube } = sending.dependencies;
  if (!isFirst) return deleteLeft(sending);
  const matching = await listMatchingPods(kube, request.job);
  const changed = whyChanged(request, matching);
  if (changed) return changed;
  if (request.pods.length === 0) return undefined;
  // Pods of another owner have the same labels: a collection would delete them too.
  if (matching.some((pod) => !belongsTo(request.job, pod))) return deleteLeft(sending);
  const why = await whyNot();
  if (why) return why;
  try {
    progress.requests += 1;
    heartbeatNow();
    await deleteMatchingPods(kube, request.job);
    return undefined;
  } catch (error) {
    if (error instanceof KcoverError && !error.transient) throw error;
    return deleteLeft({ ...sending, isFirst: false });
  }
}

/** The whole attempt is to be deleted, and it is not the one of the look. */
function whyChanged({ by, job, pods }: StopRequest, matching: readonly V1Pod[]): NotSent | undefined {
  const present = matching.filter((pod) => belongsTo(job, pod) && !isTerminating(pod)).map(attemptPod);
  return by === 'pods' || sameSet(present, pods)
    ? undefined
    : interfered(`the pods of ${jobTitle(job)} changed since they were looked at`);
}

const sameSet = (pods: readonly { readonly uid: string }[], others: readonly { readonly uid: string }[]): boolean => {
  const uids = new Set(pods.map((pod) => pod.uid));
  return uids.size === others.length && others.every((pod) => uids.has(pod.uid));
};

/** Deletes the pods of the attempt that are not terminating yet. No other UID is touched, whatever has its labels now. */
async function deleteLeft({
  dependencies,
  request,
  progress,
  clock,
  isFirst,
  whyNot,
}: Sending): Promise<NotSent | undefined> {
  const { kube } = dependencies;
  const matching = await observed(clock, listMatchingPods(kube, request.job));
  const { left, hasStarted } = remainingPods(request.pods, matching, isFirst ? undefined : progress.requests);
  if (left.length === 0) return undefined;
  // A stop that has begun to take effect is finished, within its deadline.
  if (hasStarted && isOver(clock, request)) return overdue(request, left);
  const why = hasStarted ? undefined : (whyChanged(request, matching) ?? (await whyNot()));
  if (why) return why;
  // Counted before the first is sent: a later try must know that some may have been.
  progress.requests += left.length;
  heartbeatNow();
  await inParallel(left, (pod) => deletePod(kube, request.job.namespace, pod));
  return undefined;
}

const overdue = ({ deadlineMs, pods }: StopRequest, left: readonly AttemptPod[]): NotSent => ({
  kind: 'timed-out',
  because: `${left.length} of ${pods.length} pods could not be deleted within ${formatDuration(deadlineMs)}`,
  left: left.map(({ name }) => name),
});
