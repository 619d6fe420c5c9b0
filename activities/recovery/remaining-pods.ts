/** The pods that a stop by deletion has yet to delete, and whether it has begun. Pure. */

import type { V1Pod } from '@kubernetes/client-node';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import { attemptPod, isTerminating } from '../../kube/pods/pods.ts';

export interface RemainingPods {
  /** Wanted pods that are present and not terminating. */
  readonly left: readonly AttemptPod[];
  readonly hasStarted: boolean;
}

/**
 * `requests`: how many may have been sent before, by this try of the activity or an earlier one; undefined on the first look of the first
 * try. A terminating pod shows that the stop has begun: the heartbeat that reported the request may have been lost with its worker. An absent
 * pod shows it only if a request may have been sent, because its own controller, or an eviction, replaces pods too.
 */
export function remainingPods(
  wanted: readonly AttemptPod[],
  seen: readonly V1Pod[],
  requests: number | undefined,
): RemainingPods {
  const uids = new Set(wanted.map(({ uid }) => uid));
  const there = seen.filter((pod) => uids.has(pod.metadata?.uid ?? ''));
  const left = there.filter((pod) => !isTerminating(pod)).map(attemptPod);
  const isGoing = left.length < there.length;
  const isAbsent = there.length < uids.size;
  return { left, hasStarted: requests !== undefined && (isGoing || (requests > 0 && isAbsent)) };
}
