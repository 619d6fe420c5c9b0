/** Pods that are still there although the time of the stop is over: each is deleted by force once its own time to end is over too. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import type { AttemptPod } from '../contract/jobs.ts';
import type { StopRequest } from '../contract/recovery.ts';
import { attemptPod, listMatchingPods } from '../kube/pods.ts';
import { serverTime } from '../kube/server-time.ts';
import { timeOrEpoch } from '../kube/time.ts';
import type { Dependencies } from './dependencies.ts';
import { forcePod, isOnDeadNode } from './lost-pods.ts';

/** Between two looks, ms. */
const everyMs = 2000;

/** API servers may have clocks that differ a little, and a kubelet needs a moment for its last word. ms */
const marginMs = 5000;

/** What is left of the time that the pod was given to end, ms by the API server's clock; forever, as long as nobody has asked it to go. */
export function timeLeft({ metadata }: V1Pod, serverNow: number | undefined): number {
  if (metadata?.deletionTimestamp === undefined || serverNow === undefined) return Infinity;
  return Math.max(0, Date.parse(timeOrEpoch(metadata.deletionTimestamp)) + marginMs - serverNow);
}

/** The pods of the request that are still there, each with the time that it has left. */
async function lookAtTime({ kube }: Dependencies, { job, force = [] }: StopRequest): Promise<readonly { readonly pod: AttemptPod; readonly leftMs: number }[]> {
  const requested = new Set(force.map(({ uid }) => uid));
  const [pods, now] = await Promise.all([listMatchingPods(kube, job), serverTime(kube)]);
  return pods.filter(({ metadata }) => requested.has(metadata?.uid ?? '')).map((pod) => ({ pod: attemptPod(pod), leftMs: timeLeft(pod, now) }));
}

/** How long the pod with the most time may take to end by itself, ms. One that was never asked to go is not counted. */
export async function longestTimeLeft(dependencies: Dependencies, request: StopRequest): Promise<number> {
  const lefts = (await lookAtTime(dependencies, request)).map(({ leftMs }) => leftMs);
  return Math.max(0, ...lefts.filter((leftMs) => leftMs < Infinity));
}

/**
 * Deletes each by force when its time is over, and adds it to `forced`; until the signal comes. Those of dead nodes are found to be lost
 * by the rules for them, or not at all.
 */
export async function forceAsTimeEnds(dependencies: Dependencies, request: StopRequest, forced: AttemptPod[], signal: AbortSignal): Promise<never> {
  const { log } = dependencies;
  const round = async () => {
    const done = new Set(forced.map(({ uid }) => uid));
    for (const { pod, leftMs } of await lookAtTime(dependencies, request)) {
      if (leftMs > 0 || done.has(pod.uid) || (await isOnDeadNode(dependencies, pod))) continue;
      // Named before it is asked: what becomes of a request that fails is in doubt.
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
