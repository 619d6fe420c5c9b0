/** How many pods of each job work, including those without a rank. */

import type { JobRef } from '../../contract/job/jobs.ts';
import { jobKey } from '../../kube/jobs/kinds/index.ts';
import { openMembers } from '../members.ts';

export interface Workers {
  /** `owner`: the job that controls the pod. */
  put(owner: JobRef, pod: string, works: boolean): void;
  of(job: JobRef): number;
  /** The job is known now: its children may belong to an owner. */
  lookAgain(owner: JobRef): void;
}

/** `topOf`: the job itself, or its owner. */
export function countWorkers(topOf: (owner: JobRef) => JobRef): Workers {
  // A pod is subtracted from the job for which it was counted: the owner of that job's child may not be known any more.
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
