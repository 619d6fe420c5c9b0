/**
 * Jobs that their own controller may fail while they are stopped by suspend. A suspend is not atomic: pods are deleted one after the other, and
 * when the first ones go, peers that are not deleted yet exit with an error. Pure.
 */

import type { Reason } from '../../../contract/job/jobs.ts';

/** The fields of a batch Job's spec that decide about it. */
export interface JobLimits {
  readonly ranks: number;
  readonly restartPolicy: string | undefined;
  readonly backoffLimit: number | undefined;
}

/** Source: batch/v1, `SetDefaults_Job`. */
const usualBackoffLimit = 6;

/**
 * A stop takes the job controller two requests for each pod (`deleteJobPods` in Kubernetes 1.36: every finalizer first, then every pod), and by
 * default it may send 30 at once and then 20 a second. This many pods are deleted before a peer can exit.
 */
const askedAtOnce = 15;

/** How often one rank may be restarted in its pod before the pod is deleted. */
const restartsOfRank = 2;

/**
 * The least limit that a stop of so many ranks does not exhaust. With OnFailure the controller adds up the restarts of all present pods, including
 * terminating ones, and also while the job is suspended (`pastBackoffLimitOnFailure`). With Never, ended pods count while they have their
 * finalizer.
 */
const neededLimit = ({ ranks, restartPolicy }: JobLimits): number =>
  restartPolicy === 'Never' ? ranks : restartsOfRank * ranks;

const isTooLow = (limits: JobLimits): boolean => (limits.backoffLimit ?? usualBackoffLimit) < neededLimit(limits);

/** Restart policy Never is safe: no pod is deleted before all finalizers are removed, and pods without one do not count. */
export function unsafeBatchJob(limits: JobLimits): Reason | undefined {
  if (limits.restartPolicy !== 'OnFailure' || limits.ranks <= askedAtOnce || !isTooLow(limits)) return undefined;
  return {
    because: `its controller counts every rank that exits with an error while the others are deleted, and fails the job beyond backoffLimit ${limits.backoffLimit ?? usualBackoffLimit}`,
    remedy: `set backoffLimit to ${neededLimit(limits)} or more, or use restart policy Never`,
  };
}

/**
 * The launcher of an MPIJob is a batch Job of one pod. It is suspended before the workers are deleted (mpi-operator 0.6.0, `syncHandler`), but its
 * pod may exit with an error when they are lost, before the controller of batch Jobs deletes it.
 */
export function unsafeLauncher({ restartPolicy, backoffLimit }: Omit<JobLimits, 'ranks'>): Reason | undefined {
  const limits = { ranks: 1, restartPolicy, backoffLimit };
  if (!isTooLow(limits)) return undefined;
  return {
    because: `its launcher may exit with an error when the workers are deleted, and fails the job beyond backoffLimit ${backoffLimit}`,
    remedy: `set runPolicy.backoffLimit to ${neededLimit(limits)} or more`,
  };
}

/** Its batch Jobs are suspended one after the other, and one that fails meanwhile fails the set, or uses one of its restarts. */
export function unsafeSet(jobs: readonly (JobLimits & { readonly replicas: number })[]): Reason | undefined {
  const ranks = jobs.reduce((sum, job) => sum + job.replicas * job.ranks, 0);
  const low = jobs.filter(isTooLow);
  if (ranks < 2 || low.length === 0) return undefined;
  return {
    because: `its batch Jobs are suspended one after the other, and one with backoffLimit ${low[0]?.backoffLimit ?? usualBackoffLimit} may fail because ranks exit with an error meanwhile`,
    remedy: `set backoffLimit of its job templates to ${Math.max(...low.map(neededLimit))} or more`,
  };
}
