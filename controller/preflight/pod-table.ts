/** The pods that test their node, in memory: by UID, and by the path of their report file. */

import { preflightLimits } from '../../contract/preflight/preflight.ts';
import type { PreflightPod } from '../../kube/pods/preflight-pods.ts';
import { preflightWorkflowId } from '../../contract/ids.ts';
import { openMembers } from '../members.ts';

/** Where a report file claims to come from. */
export interface FilePlace {
  readonly namespace: string;
  readonly workload: string;
  readonly rank: number;
  readonly node: string;
}

export interface PreflightPods {
  /** Undefined when it is gone. */
  get(uid: string): PreflightPod | undefined;
  /** Pods that may have written such a file, newest first, including those that went recently. */
  at(place: FilePlace): readonly PreflightPod[];
}

export interface PodTable extends PreflightPods {
  put(pod: PreflightPod): void;
  /** Other pods of its workload on its node, including those that went recently. */
  beside(pod: PreflightPod): readonly PreflightPod[];
  /** The pod is gone; its file may still arrive. */
  leave(uid: string): void;
}

/** How long a report may come after its pod, ms: as long as reports are collected, because an operator deletes a failed pod at once. */
const keptMs = 30 * 60_000;
/** Deleted pods that are remembered: two sets of the largest workload. */
const mostKept = 2 * preflightLimits.size;

/** `now`: monotonic, ms. */
export function openPodTable(now: () => number): PodTable {
  const pods = new Map<string, PreflightPod>();
  /** By workload name, then rank: UIDs. */
  const places = new Map<string, Map<number, Set<string>>>();
  /** By workload and node: a run may have thousands of pods, and each report looks up those beside its own. */
  const nodes = openMembers();
  /** When they went, oldest first. */
  const departed = new Map<string, number>();

  const keyOf = (namespace: string, name: string) => `${namespace}/${name}`;
  const known = (uids: Iterable<string>) => [...uids].flatMap((uid) => pods.get(uid) ?? []).toSorted(newestFirst);

  function forget(uid: string): void {
    const pod = pods.get(uid);
    pods.delete(uid);
    departed.delete(uid);
    nodes.leave(uid);
    if (!pod) return;
    const key = keyOf(pod.namespace, pod.workload.name);
    const ranks = places.get(key);
    const uids = ranks?.get(pod.rank);
    uids?.delete(uid);
    if (uids?.size === 0) ranks?.delete(pod.rank);
    if (ranks?.size === 0) places.delete(key);
  }

  function forgetOld(): void {
    for (const [uid, at] of departed) {
      if (now() - at < keptMs && departed.size <= mostKept) return;
      forget(uid);
    }
  }

  return {
    put(pod) {
      const before = pods.get(pod.uid);
      if (before && before.rank !== pod.rank) forget(pod.uid);
      departed.delete(pod.uid);
      pods.set(pod.uid, pod);
      nodes.put(placeOf(pod), pod.uid);
      const key = keyOf(pod.namespace, pod.workload.name);
      const ranks = places.get(key) ?? new Map<number, Set<string>>();
      places.set(key, ranks);
      ranks.set(pod.rank, (ranks.get(pod.rank) ?? new Set()).add(pod.uid));
    },
    leave(uid) {
      const pod = pods.get(uid);
      if (!pod) return;
      pods.set(uid, { ...pod, testing: false, terminating: true, over: true });
      departed.set(uid, now());
      forgetOld();
    },
    beside: (pod) => [...nodes.of(placeOf(pod))].flatMap((uid) => (uid === pod.uid ? [] : (pods.get(uid) ?? []))),
    get: (uid) => (departed.has(uid) ? undefined : pods.get(uid)),
    at: ({ namespace, workload, rank, node }) =>
      known(places.get(keyOf(namespace, workload))?.get(rank) ?? []).filter((pod) => pod.node === node),
  };
}

const placeOf = ({ workload, node = '' }: PreflightPod): string => `${preflightWorkflowId(workload)} ${node}`;

/** Creation times are whole seconds: of two pods in one second the one that stays is the newer. */
const newestFirst = (a: PreflightPod, b: PreflightPod): number =>
  b.createdAt.localeCompare(a.createdAt) ||
  Number(a.terminating) - Number(b.terminating) ||
  Number(a.ended !== undefined) - Number(b.ended !== undefined);
