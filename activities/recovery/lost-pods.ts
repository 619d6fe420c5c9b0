/** Terminating pods that no kubelet ends any more, because their node stays not ready or is gone; and deletion by force, of those or of all. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import type { StopRequest } from '../../contract/recovery/recovery.ts';
import { readinessOf, readNode } from '../../kube/nodes/nodes.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { attemptPod, deletePod, isTerminating, listMatchingPods } from '../../kube/pods/pods.ts';
import type { Dependencies } from '../dependencies.ts';

/** Interval between looks, ms. */
const everyMs = 2000;

/** This many nodes may be out together, however few a job has. */
const always = 2;

type Waited = Pick<StopRequest, 'job' | 'pods' | 'terminating'>;

const wantedOf = ({ pods, terminating = [] }: Waited): Set<string> =>
  new Set([...pods, ...terminating].map(({ uid }) => uid));

/**
 * Resolves with pods that have outlived their grace period on nodes that were not ready all the while; never, if there are none.
 * All times are of our own clock, and count only while the cluster could be observed: after an outage they start over. When most nodes
 * of the job are out at once, kcover assumes that its own view is stale, and no pod is lost.
 */
export async function findLostPods(
  { kube, settings, log }: Dependencies,
  request: Waited,
  signal: AbortSignal,
): Promise<readonly AttemptPod[]> {
  const { force, after, grace } = settings.recovery.deadNode;
  const wanted = wantedOf(request);
  const nodes = [...new Set([...request.pods, ...(request.terminating ?? [])].flatMap(({ node }) => node ?? []))];
  let goingSince = new Map<string, number>();
  let outSince = new Map<string, number>();

  async function look(): Promise<readonly AttemptPod[]> {
    const now = performance.now();
    const going = (await listMatchingPods(kube, request.job)).filter(
      (pod) => wanted.has(pod.metadata?.uid ?? '') && isTerminating(pod),
    );
    goingSince = keptOf(goingSince, going.map(uidOf), now);
    const gracePeriodExceeded = (pod: V1Pod, early = 0) =>
      now >= (goingSince.get(uidOf(pod)) ?? now) + Math.min(graceOf(pod), grace) - early;
    // Nodes are read only when they may soon matter.
    if (!going.some((pod) => gracePeriodExceeded(pod, after))) return [];
    const out = (await inParallel(nodes, async (name) => ((await isOut({ kube }, name)) ? [name] : []))).flat();
    outSince = keptOf(outSince, out, now);
    if (out.length > always && out.length * 2 > nodes.length) return [];
    return going
      .filter((pod) => gracePeriodExceeded(pod) && now >= (outSince.get(pod.spec?.nodeName ?? '') ?? Infinity) + after)
      .map(attemptPod);
  }

  while (force && !signal.aborted) {
    const lost = await look().catch((error: unknown) => {
      log.warn({ err: error, job: request.job }, 'could not look for pods on dead nodes');
      goingSince = new Map();
      outSince = new Map();
      return [];
    });
    if (lost.length > 0) return lost;
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
  return new Promise(() => undefined);
}

/**
 * Deletes by force the pods that were decided to be lost, or all that are left where no grace is given, and returns which. Nothing outside
 * the request is touched, and a UID that an earlier try of this activity already deleted by force is skipped. A lost pod whose node is
 * ready again is left to its kubelet.
 */
export async function forcePods(
  dependencies: Dependencies,
  request: StopRequest,
  requested: readonly AttemptPod[],
): Promise<AttemptPod[]> {
  const { kube, settings } = dependencies;
  const { job, immediate = false, overdue = false } = request;
  // The settings may have changed since it was decided.
  if (!immediate && !settings.recovery.deadNode.force) return [];
  const known = wantedOf(request);
  const present = new Map((await listMatchingPods(kube, job)).map((pod) => [uidOf(pod), pod]));
  const mayForce = async (pod: AttemptPod, seen: V1Pod): Promise<boolean> => {
    if (!immediate) return isOnDeadNode(dependencies, pod);
    // Unless force was requested, each pod keeps its own grace period.
    return !overdue && mayGoAtOnce(request, seen);
  };
  const own = requested.filter(({ uid }) => known.has(uid));
  const forced = await inParallel(own, async (pod) => {
    const seen = present.get(pod.uid);
    // It disappeared meanwhile. The cause is unknown, so it counts as forced.
    if (seen === undefined || seen.metadata?.deletionGracePeriodSeconds === 0) return [pod];
    if (!(await mayForce(pod, seen))) return [];
    await forcePod(dependencies, request, pod);
    return [pod];
  });
  return forced.flat();
}

/** Without grace: deletes by force the terminating pods that `forced` does not name yet, and adds them to it. */
export async function forceMore(
  dependencies: Dependencies,
  request: StopRequest,
  present: readonly V1Pod[],
  forced: AttemptPod[],
): Promise<void> {
  const known = wantedOf(request);
  const requested = new Set(request.force?.flatMap(({ uid }) => (known.has(uid) ? uid : [])));
  for (const { uid } of forced) requested.delete(uid);
  const going = present.filter((pod) => requested.has(uidOf(pod)) && mayGoAtOnce(request, pod)).map(attemptPod);
  // Recorded before the request, because the effect of a failed request is unknown.
  forced.push(...going);
  await inParallel(going, (pod) => forcePod(dependencies, request, pod));
}

/** With suspend, only terminating pods: a controller that has not deleted the pod has not seen the suspend yet, and would count it as failed. */
const mayGoAtOnce = ({ by }: StopRequest, pod: V1Pod): boolean => by !== 'suspend' || isTerminating(pod);

export async function forcePod(
  { kube, log }: Dependencies,
  { incident, job }: StopRequest,
  pod: AttemptPod,
): Promise<void> {
  log.warn(
    { incident, job, pod: pod.name, uid: pod.uid, node: pod.node },
    'deleted by force: its process is not proven dead',
  );
  await deletePod(kube, job.namespace, pod, { force: true });
}

export const isOnDeadNode = async (dependencies: Pick<Dependencies, 'kube'>, { node }: AttemptPod): Promise<boolean> =>
  node !== undefined && isOut(dependencies, node);

async function isOut({ kube }: Pick<Dependencies, 'kube'>, name: string): Promise<boolean> {
  const node = await readNode(kube, name);
  return node === undefined || !readinessOf(node).ready;
}

const uidOf = (pod: V1Pod): string => pod.metadata?.uid ?? '';
const graceOf = ({ metadata, spec }: V1Pod): number =>
  (metadata?.deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30) * 1000;

/** The time since which each has been in this state; names that no longer are get dropped. */
const keptOf = (since: ReadonlyMap<string, number>, names: readonly string[], now: number): Map<string, number> =>
  new Map(names.map((name) => [name, since.get(name) ?? now]));
