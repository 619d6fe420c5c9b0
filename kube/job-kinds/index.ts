/** Every kind of job, by name. A new kind of the Kubeflow operator is one entry in `kubeflow-kinds.ts`, any other one file and one line here. */

import type { V1OwnerReference, V1Pod } from '@kubernetes/client-node';
import type { JobKind, JobRef } from '../../contract/jobs.ts';
import { jobKinds as kinds } from '../../contract/jobs.ts';
import { collectionPath, objectPath } from '../request-url.ts';
import { batchJob } from './batch-job.ts';
import type { JobKindEntry } from './entry.ts';
import { jobSet } from './jobset.ts';
import { kubeflowKinds } from './kubeflow-kinds.ts';
import { leaderWorkerSet } from './leaderworkerset.ts';
import { canBe, controllerOf, jobKey } from './owner-jobs.ts';
import { mpiJobV2beta1 } from './mpijob-v2beta1.ts';
import { rayCluster, rayJob } from './ray.ts';
import { trainJob } from './trainjob.ts';
import { volcanoJob } from './volcano-job.ts';

export type { JobKindEntry } from './entry.ts';
export { canBe, controllerOf, mayHaveOwnerJob, isSameJob, jobKey, ownerJobOf } from './owner-jobs.ts';
export { suspensionId } from './view.ts';

export const jobKinds: Readonly<Record<JobKind, JobKindEntry>> = {
  ...kubeflowKinds,
  Job: batchJob,
  JobSet: jobSet,
  TrainJob: trainJob,
  LeaderWorkerSet: leaderWorkerSet,
  MPIJobV2beta1: mpiJobV2beta1,
  VolcanoJob: volcanoJob,
  RayJob: rayJob,
  RayCluster: rayCluster,
};

/** Where all jobs of a kind are listed and watched. */
export const watchPath = ({ group, version, plural }: JobKindEntry): string => `/apis/${group}/${version}/${plural}`;

/** Where the jobs of one namespace are. */
export const namespacePath = ({ group, version, plural }: JobKindEntry, namespace: string): string =>
  collectionPath(`/apis/${group}/${version}`, namespace, plural);

/** Where one job is. */
export const jobPath = (job: JobRef): string => objectPath(namespacePath(jobKinds[job.kind], job.namespace), job.name);

/** The kind that the API server calls this, in this group and version. */
export const jobKindOf = ({ apiVersion, kind }: { readonly apiVersion?: string | undefined; readonly kind?: string | undefined }): JobKind | undefined =>
  kinds.find((each) => jobKinds[each].objectKind === kind && jobKinds[each].apiVersion === apiVersion);

/** The job that controls an object, as its owner reference claims, when it is of a known kind. It may itself have been made by another job: see `makerOf`. */
export function controllingJob(namespace: string, owners: readonly V1OwnerReference[] | undefined): JobRef | undefined {
  const owner = controllerOf(owners);
  const kind = owner && jobKindOf(owner);
  return owner && kind && canBe(owner) ? { kind, namespace, name: owner.name, uid: owner.uid } : undefined;
}

const namingKinds = kinds.filter((kind) => jobKinds[kind].namedBy);

/** The job of a pod: the one that controls it, or the one that it names. That one is without its UID, which the object tells: see `topJob`. */
export function jobOfPod(pod: Pick<V1Pod, 'metadata'>): JobRef | undefined {
  const { namespace = '', ownerReferences } = pod.metadata ?? {};
  const named = namingKinds.flatMap((kind) => {
    const name = jobKinds[kind].namedBy?.(pod);
    return name === undefined ? [] : [{ kind, namespace, name, uid: '' }];
  });
  return controllingJob(namespace, ownerReferences) ?? named[0];
}

/** The jobs of these pods, each once: by all that a reference says, for who claims the UID of another job must not take its place. */
export function jobsOfPods(pods: readonly V1Pod[]): JobRef[] {
  const jobs = pods.flatMap((pod) => jobOfPod(pod) ?? []);
  return [...new Map(jobs.map((job) => [jobKey(job), job])).values()];
}
