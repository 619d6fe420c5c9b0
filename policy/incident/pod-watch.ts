/** Which failures of a job's pods are reported to its workflow. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { JobView, PodRole } from '../../contract/job/jobs.ts';

/** The part of a pod that matters. */
export interface WatchedPod {
  readonly uid: string;
  readonly failures: readonly Fault[];
  /** Its kubelet may still report another reason for its end. */
  readonly unexplained?: true;
  /** Its role, once it has succeeded. */
  readonly succeededAs?: PodRole;
}

/** The part of its job that matters. */
export interface PodOwner extends Pick<JobView, 'optedIn' | 'optedInAt' | 'finished' | 'suspension'> {
  /** The pod whose success completes the job; absent where all have to succeed. */
  readonly succeedsWith?: PodRole;
}

/** New failures of all pods of one job. `reported` holds the ids that were reported before. */
export function failuresToReport(
  job: PodOwner | undefined,
  pods: readonly WatchedPod[],
  reported: ReadonlySet<string>,
): readonly Fault[] {
  if (!job || whyNotReported(job, pods) !== undefined) return [];
  const since = Date.parse(job.optedInAt);
  return pods.flatMap((pod) => pod.failures).filter((fault) => !reported.has(fault.id) && !endedBefore(fault, since));
}

/** Why no failure of this job's pods counts now; undefined when they do. */
export function whyNotReported(job: PodOwner, pods: readonly WatchedPod[]): string | undefined {
  if (!job.optedIn) return 'not opted in';
  if (job.finished) return `finished: ${job.finished.as}`;
  if (job.suspension) return `suspended by ${job.suspension.by}`;
  // Once the deciding pod has succeeded, the others may be terminated with an error.
  if (pods.some((pod) => decides(job, pod))) return 'its deciding pod has succeeded';
  return undefined;
}

/** Whether the success of this pod completes its job. Without an index, any pod of the role does. */
export const decides = (
  { succeedsWith }: Pick<PodOwner, 'succeedsWith'>,
  { succeededAs }: Pick<WatchedPod, 'succeededAs'>,
): boolean =>
  succeedsWith !== undefined &&
  succeededAs?.role === succeedsWith.role &&
  (succeedsWith.index === undefined || succeededAs.index === succeedsWith.index);

/** A failure before the opt-in is history. Both times are whole seconds, so the same second counts. */
const endedBefore = (fault: Fault, since: number): boolean => Date.parse(fault.seenAt) < since;
