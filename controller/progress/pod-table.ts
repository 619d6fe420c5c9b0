/** The pods of jobs that may report progress, in memory, by node. A trainer saves and reports while its pod terminates, so its last report may come after the pod is gone. */

import type { JobRef } from '../../contract/job/jobs.ts';
import { jobKey } from '../../kube/jobs/kinds/index.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';
import { openMembers } from '../members.ts';

export interface TrainingPods {
  put(pod: TrainingPod): void;
  /** It is gone. */
  remove(uid: string): void;
  get(uid: string): TrainingPod | undefined;
  /** The one that has this name, or had it last; with the job that has its progress. Undefined for a pod of an unknown job. */
  named(namespace: string, name: string): TrainingPod | undefined;
  /** The present pods of the job, by UID, that has their progress. */
  presentOf(job: string): readonly TrainingPod[];
  /** For every job, the pods of its latest attempt that may still report, each with the job that has its progress. None of an unknown job. */
  writersOn(node: string): readonly TrainingPod[];
  /** Whether the pod is of the latest attempt of its job and may still report: it is present; or it is terminating, or went recently, and no later pod has begun. */
  isLatest(uid: string): boolean;
  /** Jobs with a pod on the node, including pods that are terminating, have ended, or went recently. */
  jobsOn(node: string): readonly JobRef[];
  /** The job is known now, or its owner. */
  lookAgain(job: JobRef): void;
}

/** How long after its end a pod may still report, ms: an agent looks every few seconds, and sends again what did not arrive. */
const lateReportMs = 60_000;

interface PodEntry {
  readonly pod: TrainingPod;
  /** The job that has its progress: the controlling one, or that one's owner. It outlives its children. */
  readonly topJob?: JobRef;
  /** Sequence number, in order of first observation. */
  readonly order: number;
  /** The highest sequence number when it was terminating, or had ended. */
  readonly orderAtEnd?: number;
  /** When its processes were seen to have ended, ms. */
  readonly endedAt?: number;
  readonly gone?: true;
}

/** `now`: monotonic, ms. `topJobOf`: the job, or its owner, if it exists. */
export function openTrainingPods(now: () => number, topJobOf: (job: JobRef) => JobRef | undefined): TrainingPods {
  const pods = new Map<string, PodEntry>();
  const nodes = new Map<string, Set<string>>();
  /** By namespace and name: the UID. */
  const names = new Map<string, string>();
  /** By the job that controls them: UIDs. */
  const owned = openMembers();
  /** By UID of the job that has their progress: the highest sequence number of its pods whose containers have begun. */
  const startedBy = new Map<string, number>();
  /** In the order in which they went. */
  const gone: { readonly uid: string; readonly at: number }[] = [];
  let count = 0;

  function put(pod: TrainingPod, more: Pick<PodEntry, 'gone'> = {}): void {
    const before = pods.get(pod.uid);
    const { order = ++count, orderAtEnd = count, endedAt = now() } = before ?? {};
    const topJob = topJobOf(pod.job) ?? before?.topJob;
    pods.set(pod.uid, {
      pod,
      order,
      ...(topJob && { topJob }),
      ...(!pod.present && { orderAtEnd }),
      ...(pod.ended && { endedAt }),
      ...more,
    });
    names.set(nameOf(pod), pod.uid);
    nodes.set(pod.node, (nodes.get(pod.node) ?? new Set()).add(pod.uid));
    owned.put(jobKey(pod.job), pod.uid);
    if (before?.topJob && before.topJob.uid !== topJob?.uid) startedBy.delete(before.topJob.uid);
    if (topJob && pod.present && pod.startedAt !== undefined)
      startedBy.set(topJob.uid, Math.max(order, startedBy.get(topJob.uid) ?? 0));
  }

  function remove(uid: string): void {
    drop();
    const entry = pods.get(uid);
    if (!entry || entry.gone) return;
    put({ ...entry.pod, present: false, ended: true }, { gone: true });
    gone.push({ uid, at: now() });
  }

  /** Forgets pods that went long ago. */
  function drop(): void {
    for (let [first] = gone; first && now() - first.at > lateReportMs; [first] = gone) {
      gone.shift();
      const entry = pods.get(first.uid);
      if (!entry?.gone) continue;
      pods.delete(first.uid);
      if (names.get(nameOf(entry.pod)) === first.uid) names.delete(nameOf(entry.pod));
      owned.leave(first.uid);
      const uids = nodes.get(entry.pod.node);
      uids?.delete(first.uid);
      if (uids?.size === 0) nodes.delete(entry.pod.node);
      const job = entry.topJob?.uid ?? '';
      if (startedBy.get(job) === entry.order) startedBy.delete(job);
    }
  }

  function isLatest(uid: string): boolean {
    const entry = pods.get(uid);
    if (!entry) return false;
    const { pod, topJob, orderAtEnd = 0, endedAt = now() } = entry;
    return pod.present || (now() - endedAt <= lateReportMs && (startedBy.get(topJob?.uid ?? '') ?? 0) <= orderAtEnd);
  }

  function lookAgain(job: JobRef): void {
    const topJob = topJobOf(job)?.uid;
    const moved = [...owned.of(jobKey(job))]
      .flatMap((uid) => pods.get(uid) ?? [])
      .filter((entry) => entry.topJob?.uid !== topJob);
    for (const { pod, gone: isGone } of moved) put(pod, isGone && { gone: isGone });
  }

  function underTopJob(uid: string): TrainingPod | undefined {
    const { pod, topJob } = pods.get(uid) ?? {};
    return pod && topJob && { ...pod, job: topJob };
  }

  const on = (node: string): TrainingPod[] => [...(nodes.get(node) ?? [])].flatMap((uid) => underTopJob(uid) ?? []);
  return {
    put: (pod) => put(pod),
    remove,
    get: (uid) => pods.get(uid)?.pod,
    named: (namespace, name) => underTopJob(names.get(nameOf({ job: { namespace }, name })) ?? ''),
    presentOf: (job) =>
      [...pods.values()].flatMap(({ pod, topJob }) => (topJob?.uid === job && pod.present ? [pod] : [])),
    writersOn: (node) => on(node).filter(({ uid }) => isLatest(uid)),
    isLatest,
    lookAgain,
    jobsOn: (node) => [...new Map(on(node).map(({ job }) => [job.uid, job])).values()],
  };
}

const nameOf = ({ job, name }: { readonly job: Pick<JobRef, 'namespace'>; readonly name: string }): string =>
  `${job.namespace}/${name}`;
