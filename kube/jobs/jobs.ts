/** Reads a job, and writes the few fields that kcover changes. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { annotations, labels } from '../../contract/ids.ts';
import { KcoverError } from '../../contract/errors.ts';
import { type JobRef, jobTitle, type JobView } from '../../contract/job/jobs.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { AskedRestart, RestartAnswers } from '../../contract/progress/restart.ts';
import type { Kube } from '../client/connection.ts';
import { isConflict, isInvalid, isNotFound } from '../client/errors.ts';
import { jobKinds, jobPath, suspensionId } from './kinds/index.ts';
import { trainingNote } from './progress.ts';
import type { QuarantineTaint } from '../nodes/nodes.ts';
import { patchObject, readObject } from '../client/requests.ts';

const tries = 10;

/** The job; undefined when it, or this UID of it, is gone. */
export async function readJob(kube: Kube, job: JobRef, taint: QuarantineTaint): Promise<JobView | undefined> {
  const object = await readJobObject(kube, job);
  return object && jobKinds[job.kind].view(object, taint);
}

/** The object itself; undefined when it, or this UID of it, is gone. */
export async function readJobObject(kube: Kube, job: JobRef): Promise<KubernetesObject | undefined> {
  const object = await readObject(kube, jobPath(job), `read ${jobTitle(job)} in ${job.namespace}`);
  return object?.metadata?.uid === job.uid ? object : undefined;
}

export interface SuspendRequest {
  readonly job: JobRef;
  readonly incident: string;
  readonly attempt: number;
  /** The version that was read; another one is a conflict. */
  readonly resourceVersion: string;
}

/** Suspends the job with our annotation. Throws `kube.conflict` when its version has changed. */
export async function suspendJob(
  kube: Kube,
  { job, incident, attempt, resourceVersion }: SuspendRequest,
): Promise<void> {
  const entry = jobKinds[job.kind];
  const doing = `suspend ${jobTitle(job)} in ${job.namespace}`;
  if (!entry.suspend) throw unsuspendable(doing, job);
  const metadata = {
    uid: job.uid,
    resourceVersion,
    annotations: { [annotations.suspendedBy]: suspensionId(incident, attempt) },
  };
  const written = await patchObject(kube, jobPath(job), { metadata, spec: entry.suspend(true) }, doing);
  // A server whose CRD lacks the field drops it silently.
  if (!entry.isSuspended(written)) throw unsuspendable(doing, job);
}

const unsuspendable = (doing: string, { kind }: JobRef): KcoverError =>
  new KcoverError('kube.invalid', `${doing}: this version of ${kind} has no suspend`, {
    remedy: 'update its operator, or set recovery.stop to delete-collection',
  });

/**
 * Removes the suspend of this incident; any other stays. False when there was none of ours. `ended`: aborts before the next write, because a later stop
 * of the same incident may have suspended the job again.
 */
export async function resumeJob(kube: Kube, job: JobRef, incident: string, ended?: AbortSignal): Promise<boolean> {
  const entry = jobKinds[job.kind];
  for (let attempt = 1; ; attempt++) {
    const object = await readJobObject(kube, job);
    const suspendedBy = object?.metadata?.annotations?.[annotations.suspendedBy];
    if (
      !object?.metadata ||
      suspendedBy === undefined ||
      suspendedBy.slice(0, suspendedBy.lastIndexOf('#')) !== incident
    )
      return false;
    ended?.throwIfAborted();
    const suspended = entry.isSuspended(object);
    const metadata = {
      uid: job.uid,
      resourceVersion: object.metadata.resourceVersion,
      annotations: { [annotations.suspendedBy]: null },
    };
    try {
      await patchObject(
        kube,
        jobPath(job),
        { metadata, ...(suspended && entry.suspend && { spec: entry.suspend(false) }) },
        `resume ${jobTitle(job)} in ${job.namespace}`,
      );
      return suspended;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isConflict(error) || attempt >= tries) throw error;
    }
  }
}

/** Removes the need-recovery label; nothing to do when the job is gone. */
export async function removeRecoveryLabel(kube: Kube, job: JobRef): Promise<void> {
  // Another UID: the job was created again, and its label is a new request.
  await changeMetadata(
    kube,
    job,
    { labels: { [labels.needRecovery]: null } },
    `remove the label ${labels.needRecovery} of`,
  );
}

/** Writes annotations; nothing to do when the job, or this UID of it, is gone. */
export async function annotateJob(kube: Kube, job: JobRef, written: Readonly<Record<string, string>>): Promise<void> {
  await changeMetadata(kube, job, { annotations: written }, 'annotate');
}

/** Writes the progress, and removes fields that it lacks, such as an older checkpoint. False when the job, or this UID of it, is gone. */
export function writeProgress(kube: Kube, job: JobRef, progress: JobProgress): Promise<boolean> {
  const { step, checkpointStep, at } = progress;
  const written = {
    [annotations.step]: String(step),
    [annotations.checkpointStep]: checkpointStep === undefined ? null : String(checkpointStep),
    [annotations.progressAt]: at,
    [annotations.training]: trainingNote(progress) ?? null,
  };
  return changeMetadata(kube, job, { annotations: written }, 'write the progress of', 'kcover-controller');
}

/** Asks the processes of a job to restart training in place. Nothing to do when the job is gone. */
export async function askRestart(kube: Kube, job: JobRef, asked: AskedRestart): Promise<void> {
  await annotateJob(kube, job, {
    [annotations.restartInProcess]: asked.id,
    [annotations.restartAsked]: JSON.stringify(asked),
  });
}

/** Writes all answers to a question. False when the job, or this UID of it, is gone. */
export function writeRestartAnswers(kube: Kube, job: JobRef, id: string, answers: RestartAnswers): Promise<boolean> {
  const written = { [annotations.restartAnswers]: JSON.stringify({ id, ...answers }) };
  return changeMetadata(kube, job, { annotations: written }, 'write the answers of the ranks of', 'kcover-controller');
}

/** False when the job, or this UID of it, is gone: the server answers another UID with `Invalid`. */
async function changeMetadata(
  kube: Kube,
  job: JobRef,
  metadata: object,
  doing: string,
  manager?: string,
): Promise<boolean> {
  try {
    await patchObject(
      kube,
      jobPath(job),
      { metadata: { uid: job.uid, ...metadata } },
      `${doing} ${jobTitle(job)} in ${job.namespace}`,
      manager,
    );
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    if ((isConflict(error) || isInvalid(error)) && (await readJobObject(kube, job)) === undefined) return false;
    throw error;
  }
}
