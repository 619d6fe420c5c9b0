/** Stops the pods of one attempt, all of them or some, and waits until they are gone. */

import { Context } from '@temporalio/activity';
import { formatDuration } from '../contract/duration.ts';
import { KcoverError } from '../contract/errors.ts';
import { type AttemptPod, jobTitle, type JobView } from '../contract/jobs.ts';
import type { StopRequest, StopResult } from '../contract/recovery.ts';
import { awaitGone, awaitLeaving } from '../kube/attempts.ts';
import { isConflict, isNotFound } from '../kube/errors.ts';
import { readJob, suspendJob } from '../kube/jobs.ts';
import { inParallel } from '../kube/parallel.ts';
import { attemptPod, belongsTo, deleteMatchingPods, deletePod, isTerminating, listMatchingPods, podsOfJob } from '../kube/pods.ts';
import type { Dependencies } from './dependencies.ts';
import { tellInHeartbeats } from './heartbeats.ts';
import { findLostPods, forceMore, forcePods } from './lost-pods.ts';

/** What a later try of this activity must know. */
interface Progress {
  /** Write requests sent, those of earlier tries included as far as their heartbeats arrived. */
  requests: number;
}

type Interfered = Extract<StopResult, { kind: 'interfered' }>;
const interfered = (because: string): Interfered => ({ kind: 'interfered', because });

/** The job or its pods are not what the decision saw: look again. Undefined: the stop was sent, now or by an earlier try. */
type Sent = Interfered | undefined;

export async function stopAttempt(dependencies: Dependencies, request: StopRequest): Promise<StopResult> {
  const { info, cancellationSignal: signal } = Context.current();
  const { now } = dependencies;
  const progress: Progress = { requests: requestsOf(info.heartbeatDetails) };
  tellInHeartbeats(() => progress);
  const forced = await begin(dependencies, request, progress);
  if (!Array.isArray(forced)) return forced;
  const deadline = info.scheduledTimestampMs + request.deadlineMs;
  const pods = [...request.pods, ...(request.leaving ?? [])];
  if (request.noGrace && !request.force) {
    const left = await awaitLeaving({ kube: dependencies.kube, job: request.job, deadline: now() + leavingMs, now, signal }, pods);
    if (left.length > 0) return { kind: 'lost', because: 'mode is force', pods: left };
  }
  const waiting: Waiting = { request, pods, forced, deadline, now, signal };
  const seen = await (request.noGrace && !request.overtime ? goneByForce : goneOrLost)(dependencies, waiting);
  const doubt = forced.length > 0 ? { forced } : {};
  if ('lost' in seen) return { kind: 'lost', because: becauseLost(seen.lost), pods: seen.lost, ...doubt };
  const { left } = seen;
  if (left.length > 0)
    return {
      kind: 'timed-out',
      because: `${left.length} of ${pods.length} pods are still there after ${formatDuration(request.deadlineMs)}`,
      left,
      ...doubt,
    };
  return { kind: 'stopped', at: new Date(now()).toISOString(), requests: progress.requests, ...doubt };
}

/** Sends the stop, or what an earlier call of it found to be lost; answers what was deleted by force. */
async function begin(dependencies: Dependencies, request: StopRequest, progress: Progress): Promise<AttemptPod[] | Interfered> {
  if (request.force) return forcePods(dependencies, request, request.force);
  return (await send[request.by](dependencies, request, progress)) ?? [];
}

const send = {
  suspend,
  'delete-collection': deleteAttempt,
  // Each is named by its UID: nothing that changed since the look can be met.
  pods: deleteLeft,
} as const satisfies Record<StopRequest['by'], (dependencies: Dependencies, request: StopRequest, progress: Progress) => Promise<Sent>>;

/** Its controller sees a suspend at once; whom it has not asked to go by then is left out of what is deleted by force, ms. */
const leavingMs = 5000;

interface Waiting {
  readonly request: StopRequest;
  readonly pods: readonly AttemptPod[];
  /** Grows while none is given grace. */
  readonly forced: AttemptPod[];
  readonly deadline: number;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** Waits until all are gone or the deadline has passed; a controller of a large job takes its time to ask them to go, and each is forced when it has. */
async function goneByForce(dependencies: Dependencies, { request, pods, forced, deadline, now, signal }: Waiting): Promise<{ left: readonly string[] }> {
  const { kube } = dependencies;
  const left = await awaitGone({ kube, job: request.job, deadline, now, signal }, pods, (present) => forceMore(dependencies, request, present, forced));
  return { left };
}

/** Waits until all are gone or the deadline has passed, or until some are found whom nobody ends any more and who were not asked by force yet. */
async function goneOrLost(
  dependencies: Dependencies,
  { request, pods, forced, deadline, now, signal }: Waiting,
): Promise<{ left: readonly string[] } | { lost: readonly AttemptPod[] }> {
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const known = new Set(forced.map(({ uid }) => uid));
  const others = (some: readonly AttemptPod[]) => some.filter(({ uid }) => !known.has(uid));
  const gone = awaitGone({ kube: dependencies.kube, job: request.job, deadline, now, signal: both }, pods).then((left) => ({ left }));
  const lost = findLostPods(dependencies, { job: request.job, pods: others(request.pods), leaving: others(request.leaving ?? []) }, both).then((some) => ({
    lost: some,
  }));
  try {
    return await Promise.race([gone, lost]);
  } finally {
    over.abort();
    await gone.catch(() => undefined);
  }
}

const becauseLost = (pods: readonly AttemptPod[]): string =>
  `${pods
    .slice(0, 5)
    .map(({ name, node }) => `${name} on ${node}`)
    .join(', ')} outlived the grace period, and the node stays not ready`;

const requestsOf = (details: unknown): number =>
  typeof details === 'object' && details !== null && 'requests' in details && typeof details.requests === 'number' ? details.requests : 0;

/** An operator writes the status of a job several times in a row; this often we look again before somebody else must decide. */
const mostConflicts = 10;

/** Looks for our own mark first: after a lost answer the job is no longer the version that was looked at. */
async function suspend({ kube, settings }: Dependencies, request: StopRequest, progress: Progress): Promise<Sent> {
  const title = jobTitle(request.job);
  for (let conflicts = 0; conflicts < mostConflicts; conflicts++) {
    const job = await readJob(kube, request.job, settings.quarantine.taint);
    if (!job) return interfered(`${title} is gone`);
    const { suspension, resourceVersion } = job;
    if (suspension?.by === 'kcover' && suspension.incident === request.incident && suspension.attempt === request.attempt) return undefined;
    if (suspension) return interfered(suspension.by === 'owner' ? `${title} was suspended by its owner` : `${title} is suspended by ${suspension.incident}`);
    if (resourceVersion !== request.resourceVersion && !(await isSameAttempt(kube, job, request))) return interfered(`${title} changed since it was looked at`);
    try {
      progress.requests += 1;
      await suspendJob(kube, { ...request, resourceVersion });
      return undefined;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
  return interfered(`somebody else keeps changing ${title}`);
}

/**
 * Whether what changed is only what an operator says of its job, such as the counts after a pod failed: the decision still holds.
 * The pods are listed after the version was read, so that a later attempt either shows here or is a conflict there.
 */
async function isSameAttempt(kube: Dependencies['kube'], job: JobView, request: StopRequest): Promise<boolean> {
  // Without pods there is nothing to tell this attempt from a later one whose pods are about to be created.
  if (request.pods.length === 0 || job.finished || !job.optedIn || !job.canStopBy.includes('suspend')) return false;
  return sameSet((await podsOfJob(kube, request.job)).present, request.pods);
}

/** One delete-collection, once; whatever is doubtful after it is looked at and deleted singly by UID. */
async function deleteAttempt(dependencies: Dependencies, request: StopRequest, progress: Progress): Promise<Sent> {
  const { kube } = dependencies;
  if (Context.current().info.attempt > 1) return deleteLeft(dependencies, request, progress);
  const matching = await listMatchingPods(kube, request.job);
  const present = matching.filter((pod) => belongsTo(request.job, pod) && !isTerminating(pod)).map(attemptPod);
  if (!sameSet(present, request.pods)) return interfered(`the pods of ${jobTitle(request.job)} changed since they were looked at`);
  if (request.pods.length === 0) return undefined;
  // Somebody else's pods carry the labels too: a collection would take them along.
  if (matching.some((pod) => !belongsTo(request.job, pod))) return deleteLeft(dependencies, request, progress);
  try {
    progress.requests += 1;
    Context.current().heartbeat(progress);
    await deleteMatchingPods(kube, request.job);
    return undefined;
  } catch (error) {
    if (error instanceof KcoverError && !error.transient) throw error;
    return deleteLeft(dependencies, request, progress);
  }
}

const sameSet = (pods: readonly { readonly uid: string }[], others: readonly { readonly uid: string }[]): boolean => {
  const uids = new Set(pods.map((pod) => pod.uid));
  return uids.size === others.length && others.every((pod) => uids.has(pod.uid));
};

/** Deletes what is left of the attempt and not going yet. No other UID is touched, whatever carries its labels now. */
async function deleteLeft({ kube }: Dependencies, request: StopRequest, progress: Progress): Promise<Sent> {
  const wanted = new Set(request.pods.map((pod) => pod.uid));
  const left = (await listMatchingPods(kube, request.job)).filter((pod) => wanted.has(pod.metadata?.uid ?? '') && !isTerminating(pod)).map(attemptPod);
  await inParallel(left, async (pod) => {
    progress.requests += 1;
    await deletePod(kube, request.job.namespace, pod);
  });
  return undefined;
}
