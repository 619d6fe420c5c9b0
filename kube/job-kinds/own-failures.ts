/**
 * Jobs that their own controller may fail while they are stopped by suspend. A suspend is not atomic: pods are asked to go one after the other, the
 * first that goes takes its peers with it, and those that were not asked yet end with an error. Pure.
 */

import type { Reason } from '../../contract/jobs.ts';

/** What decides about it in the spec of a batch Job. */
export interface JobLimits {
  readonly ranks: number;
  readonly restartPolicy: string | undefined;
  readonly backoffLimit: number | undefined;
}

/** Source: batch/v1, `SetDefaults_Job`. */
const usualBackoffLimit = 6;

/**
 * A stop costs the job controller two requests for each pod (`deleteJobPods` in Kubernetes 1.36: every finalizer first, then every pod), and by
 * default it may send 30 at once and then 20 a second. So many pods are asked to go before a peer can end.
 */
const askedAtOnce = 15;

/** How often one rank may be started again in its pod before it is asked to go. */
const restartsOfRank = 2;

/**
 * The least limit that a stop of so many ranks leaves unspent. With OnFailure the controller adds up the restarts of all pods that are there, also of
 * those that were asked to go, and also while the job is suspended (`pastBackoffLimitOnFailure`). With Never pods that end count while their finalizer
 * is there.
 */
const neededLimit = ({ ranks, restartPolicy }: JobLimits): number => (restartPolicy === 'Never' ? ranks : restartsOfRank * ranks);

const isTooLow = (limits: JobLimits): boolean => (limits.backoffLimit ?? usualBackoffLimit) < neededLimit(limits);

/** With restart policy Never nothing can happen: no pod is asked to go before all finalizers are gone, and pods without one do not count. */
export function unsafeBatchJob(limits: JobLimits): Reason | undefined {
  if (limits.restartPolicy !== 'OnFailure' || limits.ranks <= askedAtOnce || !isTooLow(limits)) return undefined;
  return {
    because: `its controller counts every rank that ends with an error while the others are asked to go, and fails the job beyond backoffLimit ${limits.backoffLimit ?? usualBackoffLimit}`,
    remedy: `set backoffLimit to ${neededLimit(limits)} or more, or use restart policy Never`,
  };
}

/**
 * The launcher of an MPIJob is a batch Job of one pod. It is suspended before the workers are deleted (mpi-operator 0.6.0, `syncHandler`), but its pod
 * may end with an error by the loss of them before the controller of batch Jobs has asked it to go.
 */
export function unsafeLauncher({ restartPolicy, backoffLimit }: Omit<JobLimits, 'ranks'>): Reason | undefined {
  const limits = { ranks: 1, restartPolicy, backoffLimit };
  if (!isTooLow(limits)) return undefined;
  return {
    because: `its launcher may end with an error when the workers are asked to go, and fails the job beyond backoffLimit ${backoffLimit}`,
    remedy: `set runPolicy.backoffLimit to ${neededLimit(limits)} or more`,
  };
}

/** Its batch Jobs are suspended one after the other, and one that fails meanwhile fails the set, or costs one of its restarts. */
export function unsafeSet(jobs: readonly (JobLimits & { readonly replicas: number })[]): Reason | undefined {
  const ranks = jobs.reduce((sum, job) => sum + job.replicas * job.ranks, 0);
  const low = jobs.filter(isTooLow);
  if (ranks < 2 || low.length === 0) return undefined;
  return {
    because: `its batch Jobs are suspended one after the other, and one with backoffLimit ${low[0]?.backoffLimit ?? usualBackoffLimit} may fail by ranks that end with an error meanwhile`,
    remedy: `set backoffLimit of its job templates to ${Math.max(...low.map(neededLimit))} or more`,
  };
}
