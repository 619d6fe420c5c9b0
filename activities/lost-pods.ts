/** Pods that were asked to go and that no kubelet ends any more: their node is not ready, or gone. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import type { AttemptPod } from '../contract/jobs.ts';
import type { StopRequest } from '../contract/recovery.ts';
import { nodeView, readNode } from '../kube/nodes.ts';
import { inParallel } from '../kube/parallel.ts';
import { attemptPod, deletePod, isTerminating, listMatchingPods } from '../kube/pods.ts';
import type { Dependencies } from './dependencies.ts';

/** Between two looks, ms. */
const everyMs = 2000;

export interface LostPods {
  readonly dependencies: Dependencies;
  readonly request: StopRequest;
  /** Grows before each deletion, so that an intent is known before it is carried out; each pod once. */
  readonly forced: AttemptPod[];
  readonly signal: AbortSignal;
}

/**
 * Deletes by force, until the signal comes, what outlives its grace period on such a node.
 * The grace is measured by our own clock, from when the pod was first seen going: clocks of two machines are not compared.
 */
export async function forceLostPods({ dependencies, request, forced, signal }: LostPods): Promise<void> {
  const { kube, settings, log, now } = dependencies;
  const { force, after } = settings.recovery.deadNode;
  if (!force) return;
  const wanted = new Set([...request.pods, ...(request.leaving ?? [])].map(({ uid }) => uid));
  const goingSince = new Map<string, number>();

  const outlived = (pod: V1Pod): boolean => {
    const uid = pod.metadata?.uid ?? '';
    const since = goingSince.get(uid) ?? now();
    goingSince.set(uid, since);
    return now() >= since + (pod.metadata?.deletionGracePeriodSeconds ?? 30) * 1000 + after;
  };

  async function look(): Promise<void> {
    const going = (await listMatchingPods(kube, request.job)).filter((pod) => wanted.has(pod.metadata?.uid ?? '') && isTerminating(pod));
    const late = going.filter(outlived).map(attemptPod);
    const lost = await inParallel(late, async (pod) => ((await isLost(pod)) ? [pod] : []));
    await inParallel(lost.flat(), async (pod) => {
      log.warn(
        { incident: request.incident, job: request.job, pod: pod.name, uid: pod.uid, node: pod.node },
        'deleted by force: its process is not proven dead',
      );
      if (!forced.some(({ uid }) => uid === pod.uid)) forced.push(pod);
      await deletePod(kube, request.job.namespace, pod, { force: true });
    });
  }

  async function isLost({ node: name }: AttemptPod): Promise<boolean> {
    if (name === undefined) return false;
    const node = await readNode(kube, name);
    return node === undefined || !nodeView(node, settings.quarantine.taint).ready;
  }

  while (!signal.aborted) {
    await look().catch((error: unknown) => log.warn({ err: error, incident: request.incident }, 'could not look for pods on dead nodes'));
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}
