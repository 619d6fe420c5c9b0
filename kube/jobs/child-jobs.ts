/** Owners and children of jobs: a TrainJob creates a JobSet, a JobSet creates batch Jobs, and these own the pods. */

import type { JobRef } from '../../contract/job/jobs.ts';
import type { Kube } from '../client/connection.ts';
import { mayHaveOwnerJob, isSameJob, jobKinds, jobPath, ownerJobOf } from './kinds/index.ts';
import { readObject } from '../client/requests.ts';

const read = (kube: Kube, job: JobRef) =>
  readObject(kube, jobPath(job), `read ${jobKinds[job.kind].plural}/${job.name} in ${job.namespace}`);

/** The job that can be stopped: the topmost owner, or the job itself where it has none or is gone. One GET for each step. */
export async function topJob(kube: Kube, job: JobRef): Promise<JobRef> {
  // A pod named the job without its UID.
  if (job.uid === '') return { ...job, uid: (await read(kube, job))?.metadata?.uid ?? '' };
  const object = mayHaveOwnerJob(job.kind) ? await read(kube, job) : undefined;
  const ownerJob = object?.metadata?.uid === job.uid ? ownerJobOf(job.kind, object.metadata) : undefined;
  return ownerJob ? topJob(kube, ownerJob) : job;
}

/** The job that owns the pods: the child of the same name, or the job itself. Undefined where the child does not exist or has another owner. */
export async function jobWithPods(kube: Kube, job: JobRef): Promise<JobRef | undefined> {
  const { childKind } = jobKinds[job.kind];
  if (childKind === undefined) return job;
  const child: JobRef = { ...job, kind: childKind };
  const metadata = (await read(kube, child))?.metadata;
  const ownerJob = ownerJobOf(childKind, metadata);
  return ownerJob && isSameJob(ownerJob, job) ? { ...child, uid: metadata?.uid ?? '' } : undefined;
}
