/** The pods of jobs that may report progress, in memory, by node. A trainer saves and reports while its pod goes, so that its last word may come after it. */

import type { JobRef } from '../../contract/jobs.ts';
import { jobKey } from '../../kube/job-kinds/index.ts';
import type { TrainingPod } from '../../kube/training-pods.ts';
import { openMembers } from '../members.ts';

export interface TrainingPods {
  put(pod: TrainingPod): void;
  /** It is gone. */
  remove(uid: string): void;
  get(uid: string): TrainingPod | undefined;
  /** Of every job: those of its latest attempt that may still report, each with the job that carries its progress. None of a job that nobody knows. */
  writersOn(node: string): readonly TrainingPod[];
  /** Whether it is of the latest attempt of its job and may still report: it is present; or it goes, or went a moment ago, and no later pod has begun. */
  isLatest(uid: string): boolean;
  /** Jobs with a pod on the node, also one that goes, has ended, or went a moment ago. */
  jobsOn(node: string): readonly JobRef[];
  /** The job is known, or the one that made it. */
  lookAgain(job: JobRef): void;
}

/** How long after its end a pod may be heard, ms: an agent looks every few seconds, and sends again what did not arrive. */
const lastWordMs = 60_000;

interface PodEntry {
  readonly pod: TrainingPod;
  /** The job that carries its progress: the one that controls it, or that one's maker. It outlives what it made. */
  readonly topJob?: JobRef;
  /** Of all pods it was the so manieth to be seen. */
  readonly seenAs: number;
  /** How many had been seen when it was asked to go, or ended. */
  readonly leftAs?: number;
  /** When its processes were seen to have ended, ms. */
  readonly endedAt?: number;
  readonly gone?: true;
}

/** `now`: monotonic, ms. `carrierOf`: the job, or the one that made it, while that is there. */
export function openTrainingPods(now: () => number, topJobOf: (job: JobRef) => JobRef | undefined): TrainingPods {
  const pods = new Map<string, PodEntry>();
  const nodes = new Map<string, Set<string>>();
  /** By the job that controls them: UIDs. */
  const owned = openMembers();
  /** By UID of the job that carries their progress: the last of its pods, in the order in which they were seen, whose containers have begun. */
  const startedBy = new Map<string, number>();
  /** In the order in which they went. */
  const gone: { readonly uid: string; readonly at: number }[] = [];
  let count = 0;

  function put(pod: TrainingPod, more: Pick<PodEntry, 'gone'> = {}): void {
    const before = pods.get(pod.uid);
    const { seenAs = ++count, leftAs = count, endedAt = now() } = before ?? {};
    const topJob = topJobOf(pod.job) ?? before?.topJob;
    pods.set(pod.uid, { pod, seenAs, ...(topJob && { topJob }), ...(!pod.present && { leftAs }), ...(pod.ended && { endedAt }), ...more });
    nodes.set(pod.node, (nodes.get(pod.node) ?? new Set()).add(pod.uid));
    owned.put(jobKey(pod.job), pod.uid);
    if (before?.topJob && before.topJob.uid !== topJob?.uid) startedBy.delete(before.topJob.uid);
    if (topJob && pod.present && pod.startedAt !== undefined) startedBy.set(topJob.uid, Math.max(seenAs, startedBy.get(topJob.uid) ?? 0));
  }

  function remove(uid: string): void {
    drop();
    const entry = pods.get(uid);
    if (!entry || entry.gone) return;
    put({ ...entry.pod, present: false, ended: true }, { gone: true });
    gone.push({ uid, at: now() });
  }

  /** What went long enough ago. */
  function drop(): void {
    for (let [first] = gone; first && now() - first.at > lastWordMs; [first] = gone) {
      gone.shift();
      const entry = pods.get(first.uid);
      if (!entry?.gone) continue;
      pods.delete(first.uid);
      owned.leave(first.uid);
      const uids = nodes.get(entry.pod.node);
      uids?.delete(first.uid);
      if (uids?.size === 0) nodes.delete(entry.pod.node);
      const job = entry.topJob?.uid ?? '';
      if (startedBy.get(job) === entry.seenAs) startedBy.delete(job);
    }
  }

  function isLatest(uid: string): boolean {
    const entry = pods.get(uid);
    if (!entry) return false;
    const { pod, topJob, leftAs = 0, endedAt = now() } = entry;
    return pod.present || (now() - endedAt <= lastWordMs && (startedBy.get(topJob?.uid ?? '') ?? 0) <= leftAs);
  }

  function lookAgain(job: JobRef): void {
    const topJob = topJobOf(job)?.uid;
    const moved = [...owned.of(jobKey(job))].flatMap((uid) => pods.get(uid) ?? []).filter((entry) => entry.topJob?.uid !== topJob);
    for (const { pod, gone: isGone } of moved) put(pod, isGone && { gone: isGone });
  }

  const on = (node: string): TrainingPod[] =>
    [...(nodes.get(node) ?? [])].flatMap((uid) => {
      const { pod, topJob } = pods.get(uid) ?? {};
      return pod && topJob ? { ...pod, job: topJob } : [];
    });
  return {
    put: (pod) => put(pod),
    remove,
    get: (uid) => pods.get(uid)?.pod,
    writersOn: (node) => on(node).filter(({ uid }) => isLatest(uid)),
    isLatest,
    lookAgain,
    jobsOn: (node) => [...new Map(on(node).map(({ job }) => [job.uid, job])).values()],
  };
}
