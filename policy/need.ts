/** Whether a fault still needs a stop, judged by the pods that are there now and by how far training is. */

import { type Fault, nodeNotReady, trainingHangs } from '../contract/faults.ts';
import type { AttemptPod, JobView } from '../contract/jobs.ts';
import type { RecoveryFacts } from '../contract/recovery.ts';
import { movedOnMs } from './incident.ts';

/**
 * How far the clock of a node, which says when a container ended, may be behind the clock of the API server, which says when pods were created, ms.
 * More than NTP lets clocks differ. It matters for a pod that failed soon after it was created, beside others that were created a little later.
 */
const skewMs = 5000;

/** Pods of one attempt are created within that. Those that are younger than one that ran for longer have replaced it, ms. */
const startMs = 60_000;

/** Why none of the faults needs a stop; undefined when one does. */
export function whyNotNeeded(facts: RecoveryFacts, recoversHangs: boolean): string | undefined {
  const { fresh, tried = [] } = facts;
  const reasons = fresh.map((fault) => whyOver(fault, facts) ?? whyUntouched(fault, facts, recoversHangs));
  // A gentler level did not bring training back.
  const isTried = tried.some(({ noCapacity }) => !noCapacity);
  const isOver = fresh.length > 0 && fresh.every((fault) => whyOver(fault, facts) !== undefined);
  if (reasons.includes(undefined) || (isTried && !isOver)) return undefined;
  return [...new Set(reasons)].slice(0, 3).join('; ') || 'no fault is waiting';
}

/** What it told of is past, wherever the pods are. */
function whyOver(fault: Fault, { attempt }: RecoveryFacts): string | undefined {
  if (fault.quarantine?.state === 'released') return `${fault.node ?? 'its node'} was released`;
  if (fault.code === trainingHangs && hasMovedOn(fault, attempt.job)) return 'training goes on';
  if (fault.pod && hasMovedOn(fault, attempt.job, movedOnMs)) return `training has moved on since ${fault.pod.name} failed`;
  return undefined;
}

/** Its trainer has told of a step since. */
const hasMovedOn = ({ seenAt }: Fault, job: JobView | undefined, byMs = 0): boolean => Date.parse(job?.progress?.at ?? '') > Date.parse(seenAt) + byMs;

/**
 * A fault of a node touches a job that has a pod there, the failure of a pod an attempt that it was a part of.
 * A pod that was asked to go leaves by itself, but for one on a node that was not ready: its job cannot go on alone.
 */
function whyUntouched(fault: Fault, facts: RecoveryFacts, recoversHangs: boolean): string | undefined {
  const { pods, terminating = [], nodes } = facts.attempt;
  if (fault.pod) return isOfAttempt(fault.pod, fault.seenAt, facts) ? undefined : whyReplaced(fault.pod.name, pods);
  if (fault.code === trainingHangs) return recoversHangs ? undefined : 'training stands still, and people were told';
  const isOn = (some: readonly AttemptPod[]): boolean => fault.node !== undefined && some.some(({ node }) => node === fault.node);
  const isLost = fault.code === nodeNotReady;
  if (isLost && isOn(terminating)) return undefined;
  if (isLost && nodes.some(({ name, ready }) => name === fault.node && ready)) return `${fault.node} is ready again`;
  return isOn(pods) ? undefined : `no pod of the job is left on ${fault.node ?? 'the node'}`;
}

/**
 * Whether the pod, or one that ran beside it, is still there. Its own controller, or a person, may have put others in the place of all of them since.
 * Kinds that keep ended pods show the same by the age of those that run. Times have whole seconds, so one that was created in the same second counts.
 */
function isOfAttempt(pod: NonNullable<Fault['pod']>, seenAt: string, { attempt, stops }: RecoveryFacts): boolean {
  const { pods, terminating = [], oldestPodAt } = attempt;
  if ([...pods, ...terminating].some(({ uid }) => uid === pod.uid)) return true;
  if (pods.length === 0) return false;
  // Facts that somebody wrote down may not say it.
  if (oldestPodAt === undefined) return true;
  const [failed, created] = [Date.parse(seenAt), Date.parse(pod.createdAt)];
  // After a stop the earlier attempt is known to be gone: what its pods told late is not counted against the next.
  const isEarly = stops === 0 && failed - created < startMs;
  return Date.parse(oldestPodAt) <= Math.max(isEarly ? failed + skewMs : failed, created);
}

const whyReplaced = (failed: string, pods: readonly AttemptPod[]): string =>
  pods.length === 0 ? `no pod is left of those that ran beside ${failed}` : `all pods of the job were created after ${failed} failed`;
