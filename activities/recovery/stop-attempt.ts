/** Stops some or all pods of one attempt, and waits until they are gone. */

import { Context } from '@temporalio/activity';
import { formatDuration } from '../../contract/settings/duration.ts';
import { KcoverError } from '../../contract/errors.ts';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import type { StopRequest, StopResult } from '../../contract/recovery/recovery.ts';
import { awaitGone, awaitTerminating, type Gone } from '../../kube/jobs/attempts.ts';
import { readJob } from '../../kube/jobs/jobs.ts';
import { type ObservationClock, observationClock, observedOf } from '../../kube/client/observation-clock.ts';
import type { Dependencies } from '../dependencies.ts';
import { reportInHeartbeats } from '../heartbeats.ts';
import { findLostPods, forceMore, forcePods } from './lost-pods.ts';
import { forceAsTimeEnds, longestTimeLeft } from './overdue-pods.ts';
import { isSuspendedBy, type StopHeartbeat, sendStop } from './send-stop.ts';

/** Temporal retries a transient error, but not beyond the deadline of the stop: then the recovery must decide. */
export async function stopAttempt(dependencies: Dependencies, request: StopRequest): Promise<StopResult> {
  const { info, cancellationSignal: signal } = Context.current();
  try {
    return await sendAndWait(dependencies, request);
  } catch (error) {
    const isLate = dependencies.now() >= info.scheduledTimestampMs + request.deadlineMs;
    if (!isLate || signal.aborted || !(error instanceof KcoverError) || !error.transient) throw error;
    const because = `whether all pods are gone could not be observed within ${formatDuration(request.deadlineMs)}: ${error.because}`;
    const left = [...request.pods, ...(request.terminating ?? [])].map(({ name }) => name);
    // Which of these deletions by force succeeded is unknown.
    return { kind: 'timed-out', because, left, ...(request.force && { forced: request.force }) };
  }
}

async function sendAndWait(dependencies: Dependencies, request: StopRequest): Promise<StopResult> {
  const { info, cancellationSignal: signal } = Context.current();
  const { kube, now } = dependencies;
  const progress: StopHeartbeat = { requests: requestsOf(info.heartbeatDetails) };
  const clock = observationClock(now, info.scheduledTimestampMs, observedOf(info.heartbeatDetails));
  reportInHeartbeats(() => ({ ...progress, clock: clock.observed() }));
  const forced = request.force
    ? await forcePods(dependencies, request, request.force)
    : ((await sendStop(dependencies, request, progress, clock)) ?? []);
  if (!Array.isArray(forced)) return forced;
  const deadline = Math.max(
    info.scheduledTimestampMs + request.deadlineMs,
    request.overdue ? clock.time() + (await longestTimeLeft(dependencies, request)) + forcingMs : 0,
  );
  const pods = [...request.pods, ...(request.terminating ?? [])];
  if (request.immediate && !request.force) {
    const left = await awaitTerminating(
      { kube, job: request.job, clock, deadline: clock.time() + terminatingMs, signal },
      pods,
    );
    if (left.length > 0) return { kind: 'lost', because: 'mode is force', pods: left };
  }
  const waiting: StopWait = { request, pods, forced, clock, deadline, signal };
  const seen = await (request.immediate && !request.overdue ? goneByForce : goneOrLost)(dependencies, waiting);
  const doubt = forced.length > 0 ? { forced } : {};
  if ('lost' in seen) return { kind: 'lost', because: becauseLost(seen.lost), pods: seen.lost, ...doubt };
  const { left, late } = seen;
  if (left.length > 0)
    return {
      kind: 'timed-out',
      because: `${left.length} of ${pods.length} pods are still there after ${formatDuration(request.deadlineMs)}`,
      left,
      ...doubt,
    };
  return {
    kind: 'stopped',
    at: new Date(now()).toISOString(),
    requests: progress.requests,
    ...doubt,
    ...(late.length > 0 && { late }),
  };
}

/** Time for a deletion by force, after the pod's own grace period, ms. */
const forcingMs = 60_000;

/** A controller sees a suspend at once; pods that it has not deleted by then are left out of the deletion by force, ms. */
const terminatingMs = 5000;

interface StopWait {
  readonly request: StopRequest;
  readonly pods: readonly AttemptPod[];
  /** Grows while no grace is given. */
  readonly forced: AttemptPod[];
  readonly clock: ObservationClock;
  /** By that clock, ms. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** Waits until all are gone or the deadline has passed. The controller of a large job needs time to delete its pods; each is forced once it has. */
async function goneByForce(
  dependencies: Dependencies,
  { request, pods, forced, clock, deadline, signal }: StopWait,
): Promise<Gone> {
  const { kube } = dependencies;
  return awaitGone({ kube, job: request.job, clock, deadline, signal }, pods, {
    meanwhile: (present) => forceMore(dependencies, request, present, forced),
    isHeld: () => isHeldBy(request, dependencies),
  });
}

/** A suspended job gets no pods, so those that are there belong to the attempt that is being stopped. */
async function isHeldBy(request: StopRequest, { kube, settings }: Dependencies): Promise<boolean> {
  if (request.by !== 'suspend') return false;
  const job = await readJob(kube, request.job, settings.quarantine.taint);
  return job !== undefined && isSuspendedBy(request, job);
}

/** Waits until all are gone, the deadline has passed, or some are found that no kubelet ends any more and that were not forced yet. */
async function goneOrLost(
  dependencies: Dependencies,
  { request, pods, forced, clock, deadline, signal }: StopWait,
): Promise<Gone | { lost: readonly AttemptPod[] }> {
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const known = new Set(forced.map(({ uid }) => uid));
  const others = (some: readonly AttemptPod[]) => some.filter(({ uid }) => !known.has(uid));
  const gone = awaitGone({ kube: dependencies.kube, job: request.job, clock, deadline, signal: both }, pods, {
    isHeld: () => isHeldBy(request, dependencies),
  });
  const lost = findLostPods(
    dependencies,
    { job: request.job, pods: others(request.pods), terminating: others(request.terminating ?? []) },
    both,
  ).then((some) => ({
    lost: some,
  }));
  const forcing = request.overdue ? [forceAsTimeEnds(dependencies, request, forced, both)] : [];
  try {
    return await Promise.race([gone, lost, ...forcing]);
  } finally {
    over.abort();
    await Promise.allSettled([gone, ...forcing]);
  }
}

const becauseLost = (pods: readonly AttemptPod[]): string =>
  `${pods
    .slice(0, 5)
    .map(({ name, node }) => `${name} on ${node}`)
    .join(', ')} outlived the grace period, and the node stays not ready`;

const requestsOf = (details: unknown): number =>
  typeof details === 'object' && details !== null && 'requests' in details && typeof details.requests === 'number'
    ? details.requests
    : 0;
