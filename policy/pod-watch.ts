/** Which failures of a job's pods its workflow has to hear of. */

import type { Fault } from '../contract/faults.ts';
import type { JobView, PodRole } from '../contract/jobs.ts';

/** What counts of one pod. */
export interface PodSeen {
  readonly uid: string;
  readonly failures: readonly Fault[];
  /** Its kubelet has yet to say what became of it. */
  readonly unexplained?: true;
  /** Who it was, once it has succeeded. */
  readonly succeededAs?: PodRole;
}

/** What counts of the job that controls it. */
export interface PodOwner extends Pick<JobView, 'optedIn' | 'optedInAt' | 'finished' | 'suspension'> {
  /** Whose success is the success of the job; absent where all have to succeed. */
  readonly succeedsWith?: PodRole;
}

/** Failures to tell, of all pods of one job. `told` holds the ids that were told before. */
export function failuresToReport(job: PodOwner | undefined, pods: readonly PodSeen[], reported: ReadonlySet<string>): readonly Fault[] {
  if (!job || whyNotReported(job, pods) !== undefined) return [];
  const since = Date.parse(job.optedInAt);
  return pods.flatMap((pod) => pod.failures).filter((fault) => !reported.has(fault.id) && !endedBefore(fault, since));
}

/** Why no failure of this job's pods counts now; undefined when they do. */
export function whyNotReported(job: PodOwner, pods: readonly PodSeen[]): string | undefined {
  if (!job.optedIn) return 'not opted in';
  if (job.finished) return `finished: ${job.finished.as}`;
  if (job.suspension) return `suspended by ${job.suspension.by}`;
  // After the deciding pod is through, the others may well be torn down with an error.
  if (pods.some((pod) => decides(job, pod))) return 'its deciding pod has succeeded';
  return undefined;
}

/** Whether the success of this pod is the success of its job. Without a number, any pod of the role decides. */
export const decides = ({ succeedsWith }: Pick<PodOwner, 'succeedsWith'>, { succeededAs }: Pick<PodSeen, 'succeededAs'>): boolean =>
  succeedsWith !== undefined && succeededAs?.role === succeedsWith.role && (succeedsWith.index === undefined || succeededAs.index === succeedsWith.index);

/** What ended before the opt-in is history. Both times have whole seconds, so the same second counts. */
const endedBefore = (fault: Fault, since: number): boolean => Date.parse(fault.seenAt) < since;
