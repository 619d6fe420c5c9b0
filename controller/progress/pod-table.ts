/** The pods of jobs that may report progress, in memory, by node. */

import type { JobRef } from '../../contract/jobs.ts';
import type { TrainingPod } from '../../kube/training-pods.ts';

export interface TrainingPods {
  put(pod: TrainingPod): void;
  /** It is gone. */
  remove(uid: string): void;
  get(uid: string): TrainingPod | undefined;
  /** Of every job and attempt. */
  on(node: string): readonly TrainingPod[];
  /** Jobs with a pod on the node, also one that goes or has ended. */
  jobsOn(node: string): readonly JobRef[];
}

export function openTrainingPods(): TrainingPods {
  const pods = new Map<string, TrainingPod>();
  const nodes = new Map<string, Set<string>>();
  const on = (node: string) => [...(nodes.get(node) ?? [])].flatMap((uid) => pods.get(uid) ?? []);

  return {
    put(pod) {
      pods.set(pod.uid, pod);
      nodes.set(pod.node, (nodes.get(pod.node) ?? new Set()).add(pod.uid));
    },
    remove(uid) {
      const { node } = pods.get(uid) ?? {};
      pods.delete(uid);
      if (node === undefined) return;
      const uids = nodes.get(node);
      uids?.delete(uid);
      if (uids?.size === 0) nodes.delete(node);
    },
    get: (uid) => pods.get(uid),
    on,
    jobsOn: (node) => [...new Map(on(node).map(({ job }) => [job.uid, job])).values()],
  };
}
