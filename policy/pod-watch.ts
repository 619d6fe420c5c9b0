/** Which failures of a job's pods its workflow has to hear of. */

import type { Fault } from '../contract/faults.ts';
import type { JobView } from '../contract/jobs.ts';

/** What counts of one pod. */
export interface PodSeen {
  readonly uid: string;
  readonly failures: readonly Fault[];
  /** The pod whose success is the success of the job, its master, has succeeded; without a master there is none. */
  readonly decidedSuccess: boolean;
}

/** What counts of the job that controls it. */
export type PodOwner = Pick<JobView, 'optedIn' | 'optedInAt' | 'finished' | 'suspension'>;

/** Failures to tell, of all pods of one job. `told` holds the ids that were told before. */
export function failuresToTell(job: PodOwner | undefined, pods: readonly PodSeen[], told: ReadonlySet<string>): readonly Fault[] {
  if (!job || whySilent(job, pods) !== undefined) return [];
  const since = Date.parse(job.optedInAt);
  return pods.flatMap((pod) => pod.failures).filter((fault) => !told.has(fault.id) && !endedBefore(fault, since));
}

/** Why no failure of this job's pods counts now; undefined when they do. */
export function whySilent(job: PodOwner, pods: readonly PodSeen[]): string | undefined {
  if (!job.optedIn) return 'not opted in';
  if (job.finished) return `finished: ${job.finished.as}`;
  if (job.suspension) return `suspended by ${job.suspension.by}`;
  // After the deciding pod is through, the others may well be torn down with an error.
  if (pods.some((pod) => pod.decidedSuccess)) return 'its deciding pod has succeeded';
  return undefined;
}

/** What ended before the opt-in is history. Both times have whole seconds, so the same second counts. */
const endedBefore = (fault: Fault, since: number): boolean => Date.parse(fault.seenAt) < since;
