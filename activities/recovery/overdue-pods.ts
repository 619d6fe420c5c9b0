/** Pods that are still there after the stop's deadline: each is deleted by force once its own grace period is over too. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import type { StopRequest } from '../../contract/recovery/recovery.ts';
import { attemptPod, listMatchingPods } from '../../kube/pods/pods.ts';
import { serverTime } from '../../kube/client/server-time.ts';
import { timeOrEpoch } from '../../kube/client/time.ts';
import type { Dependencies } from '../dependencies.ts';
import { forcePod, isOnDeadNode } from './lost-pods.ts';

/** Interval between looks, ms. */
const everyMs = 2000;

/** API servers' clocks may differ a little, and a kubelet needs a moment to report. ms */
const marginMs = 5000;

/** What is left of the pod's grace period, ms by the API server's clock; infinite while the pod is not terminating. */
export function timeLeft({ metadata }: V1Pod, serverNow: number | undefined): number {
  if (metadata?.deletionTimestamp === undefined || serverNow === undefined) return Infinity;
  return Math.max(0, Date.parse(timeOrEpoch(metadata.deletionTimestamp)) + marginMs - serverNow);
}

/** The pods of the request that are still there, each with the time that it has left. */
async function lookAtTime(
  { kube }: Dependencies,
  { job, force = [] }: StopRequest,
): Promise<readonly { readonly pod: AttemptPod; readonly leftMs: number }[]> {
  const requested = new Set(force.map(({ uid }) => uid));
  const [pods, now] = await Promise.all([listMatchingPods(kube, job), serverTime(kube)]);
  return pods
    .filter(({ metadata }) => requested.has(metadata?.uid ?? ''))
    .map((pod) => ({ pod: attemptPod(pod), leftMs: timeLeft(pod, now) }));
}

/** The longest remaining grace period, ms. Pods that are not terminating are not counted. */
export async function longestTimeLeft(dependencies: Dependencies, request: StopRequest): Promise<number> {
  const lefts = (await lookAtTime(dependencies, request)).map(({ leftMs }) => leftMs);
  return Math.max(0, ...lefts.filter((leftMs) => leftMs < Infinity));
}

/**
 * Deletes each pod by force when its grace period is over, and adds it to `forced`, until the signal aborts. Pods of dead nodes are left
 * to the rules for lost pods.
 */
export async function forceAsTimeEnds(
  dependencies: Dependencies,
  request: StopRequest,
  forced: AttemptPod[],
  signal: AbortSignal,
): Promise<never> {
  const { log } = dependencies;
  const round = async () => {
    const done = new Set(forced.map(({ uid }) => uid));
    for (const { pod, leftMs } of await lookAtTime(dependencies, request)) {
      if (leftMs > 0 || done.has(pod.uid) || (await isOnDeadNode(dependencies, pod))) continue;
      // Recorded before the request, because the effect of a failed request is unknown.
      forced.push(pod);
      await forcePod(dependencies, request, pod);
    }
  };
  for (;;) {
    signal.throwIfAborted();
    await round().catch((error: unknown) => log.warn({ err: error, job: request.job }, 'could not delete by force'));
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}
