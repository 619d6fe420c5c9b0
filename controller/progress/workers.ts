/** How many pods of each job work, those included that have no rank. */

import type { JobRef } from '../../contract/jobs.ts';
import { jobKey } from '../../kube/job-kinds/index.ts';
import { openMembers } from '../members.ts';

export interface Workers {
  /** `owner`: the job that controls the pod. */
  put(owner: JobRef, pod: string, works: boolean): void;
  of(job: JobRef): number;
  /** The job is known by now: what it owns may belong to one that made it. */
  lookAgain(owner: JobRef): void;
}

/** `topOf`: the job itself, or the one that made it. */
export function countWorkers(topOf: (owner: JobRef) => JobRef): Workers {
  // A pod that goes is taken from the job for which it was counted: who made its owner may not be known any more.
  const working = openMembers();
  const keyOf = (owner: JobRef): string => jobKey(topOf(owner));
  return {
    put: (owner, pod, works) => (works ? working.put(keyOf(owner), pod) : working.leave(pod)),
    of: (job) => working.of(jobKey(job)).size,
    lookAgain(owner) {
      if (keyOf(owner) !== jobKey(owner)) for (const pod of working.of(jobKey(owner))) working.put(keyOf(owner), pod);
    },
  };
}
