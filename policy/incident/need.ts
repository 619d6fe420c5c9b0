/** Whether a fault still needs a stop, from the present pods and the progress of training. */

import {
  type Fault,
  isNoticedLine,
  nodeNotReady,
  noStepInLog,
  trainingHangs,
  trainingSlow,
} from '../../contract/faults/faults.ts';
import type { AttemptPod, JobView } from '../../contract/job/jobs.ts';
import type { RecoveryFacts } from '../../contract/recovery/recovery.ts';
import { movedOnMs } from './incident.ts';

/**
 * How far a node's clock (container end times) may be behind the API server's clock (pod creation times), ms. More than NTP allows.
 * It matters for a pod that failed soon after its creation, while other pods were created a little later.
 */
const skewMs = 5000;

/** Pods of one attempt are created within this time, ms. Pods created after one that ran for longer are its replacements. */
const startMs = 60_000;

/** Why none of the faults needs a stop; undefined when one does. */
export function whyNotNeeded(facts: RecoveryFacts, recoversHangs: boolean): string | undefined {
  const { fresh, tried = [] } = facts;
  const reasons = fresh.map((fault) => whyOver(fault, facts) ?? whyUntouched(fault, facts, recoversHangs));
  // An earlier level did not bring training back.
  const isTried = tried.some(({ noCapacity }) => !noCapacity);
  const isOver = fresh.length > 0 && fresh.every((fault) => whyOver(fault, facts) !== undefined);
  if (reasons.includes(undefined) || (isTried && !isOver)) return undefined;
  return [...new Set(reasons)].slice(0, 3).join('; ') || 'no fault is waiting';
}

/** Why the fault is over, wherever the pods are. */
function whyOver(fault: Fault, { attempt }: RecoveryFacts): string | undefined {
  if (fault.quarantine?.state === 'released') return `${fault.node ?? 'its node'} was released`;
  if ((fault.code === trainingHangs || fault.code === noStepInLog) && hasMovedOn(fault, attempt.job))
    return 'training continues';
  if (fault.pod && hasMovedOn(fault, attempt.job, movedOnMs))
    return `training has moved on since ${fault.pod.name} failed`;
  return undefined;
}

/** Its trainer has reported a step since. */
const hasMovedOn = ({ seenAt }: Fault, job: JobView | undefined, byMs = 0): boolean =>
  Date.parse(job?.progress?.at ?? '') > Date.parse(seenAt) + byMs;

/**
 * A node fault affects a job that has a pod there; a pod failure affects the attempt that the pod belonged to.
 * A terminating pod needs no stop, except on a node that was not ready: its controller cannot replace it on its own.
 */
function whyUntouched(fault: Fault, facts: RecoveryFacts, recoversHangs: boolean): string | undefined {
  const { pods, terminating = [], nodes } = facts.attempt;
  if (isNoticedLine(fault)) return 'a line was seen in a log, which an Event has reported';
  if (fault.pod) return isOfAttempt(fault.pod, fault.seenAt, facts) ? undefined : whyReplaced(fault.pod.name, pods);
  if (fault.code === noStepInLog) return 'only the log says that training hangs, which an Event has reported';
  if (fault.code === trainingHangs) return recoversHangs ? undefined : 'training hangs, which an Event has reported';
  if (fault.code === trainingSlow) return 'training is slow, which an Event has reported';
  const isOn = (some: readonly AttemptPod[]): boolean =>
    fault.node !== undefined && some.some(({ node }) => node === fault.node);
  const isLost = fault.code === nodeNotReady;
  if (isLost && isOn(terminating)) return undefined;
  if (isLost && nodes.some(({ name, ready }) => name === fault.node && ready)) return `${fault.node} is ready again`;
  return isOn(pods) ? undefined : `no pod of the job is left on ${fault.node ?? 'the node'}`;
}

/**
 * Whether the pod, or one that ran at the same time, still exists. The job's controller, or a person, may have replaced all of them since.
 * For kinds that keep ended pods, the age of the running ones shows it. Times are whole seconds, so a pod created in the same second counts.
 */
function isOfAttempt(pod: NonNullable<Fault['pod']>, seenAt: string, { attempt, stops }: RecoveryFacts): boolean {
  const { pods, terminating = [], oldestPodAt } = attempt;
  if ([...pods, ...terminating].some(({ uid }) => uid === pod.uid)) return true;
  if (pods.length === 0) return false;
  // Facts from a file may lack it.
  if (oldestPodAt === undefined) return true;
  const [failed, created] = [Date.parse(seenAt), Date.parse(pod.createdAt)];
  // After a stop the earlier attempt is gone: late reports of its pods do not count against the next one.
  const isEarly = stops === 0 && failed - created < startMs;
  return Date.parse(oldestPodAt) <= Math.max(isEarly ? failed + skewMs : failed, created);
}

const whyReplaced = (failed: string, pods: readonly AttemptPod[]): string =>
  pods.length === 0
    ? `no pod is left of those that ran beside ${failed}`
    : `all pods of the job were created after ${failed} failed`;
