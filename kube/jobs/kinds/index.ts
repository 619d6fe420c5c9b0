/** All kinds of job, by name. A new kind of the Kubeflow operator needs an entry in `kubeflow-kinds.ts`, any other a file and a line here. */

import type { V1OwnerReference, V1Pod } from '@kubernetes/client-node';
import type { JobKind, JobRef } from '../../../contract/job/jobs.ts';
import { jobKinds as kinds } from '../../../contract/job/jobs.ts';
import { collectionPath, objectPath } from '../../client/request-url.ts';
import { batchJob } from './batch-job.ts';
import type { JobKindEntry } from './entry.ts';
import { jobSet } from './jobset.ts';
import { kubeflowKinds } from './kubeflow-kinds.ts';
import { leaderWorkerSet } from './leaderworkerset.ts';
import { isValidOwner, controllerOf, jobKey } from './owner-jobs.ts';
import { mpiJobV2beta1 } from './mpijob-v2beta1.ts';
import { rayCluster, rayJob } from './ray.ts';
import { trainJob } from './trainjob.ts';
import { volcanoJob } from './volcano-job.ts';

export type { JobKindEntry } from './entry.ts';
export { isValidOwner, controllerOf, mayHaveOwnerJob, isSameJob, jobKey, ownerJobOf } from './owner-jobs.ts';
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

/** Path to list and watch all jobs of a kind. */
export const watchPath = ({ group, version, plural }: JobKindEntry): string => `/apis/${group}/${version}/${plural}`;

/** Path of the jobs of one namespace. */
export const namespacePath = ({ group, version, plural }: JobKindEntry, namespace: string): string =>
  collectionPath(`/apis/${group}/${version}`, namespace, plural);

/** Path of one job. */
export const jobPath = (job: JobRef): string => objectPath(namespacePath(jobKinds[job.kind], job.namespace), job.name);

/** The kind for a kind, group and version of the API. */
export const jobKindOf = ({
  apiVersion,
  kind,
}: {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
}): JobKind | undefined =>
  kinds.find((each) => jobKinds[each].objectKind === kind && jobKinds[each].apiVersion === apiVersion);

/** The job that controls an object by its owner reference, if of a known kind. Another job may own it in turn: see `owner-jobs.ts`. */
export function controllingJob(namespace: string, owners: readonly V1OwnerReference[] | undefined): JobRef | undefined {
  const owner = controllerOf(owners);
  const kind = owner && jobKindOf(owner);
  return owner && kind && isValidOwner(owner) ? { kind, namespace, name: owner.name, uid: owner.uid } : undefined;
}

const namingKinds = kinds.filter((kind) => jobKinds[kind].namedBy);

/** The job of a pod: the one that controls it, or the one that it names. The latter lacks its UID, which is read from the object: see `topJob`. */
export function jobOfPod(pod: Pick<V1Pod, 'metadata'>): JobRef | undefined {
  const { namespace = '', ownerReferences } = pod.metadata ?? {};
  const named = namingKinds.flatMap((kind) => {
    const name = jobKinds[kind].namedBy?.(pod);
    return name === undefined ? [] : [{ kind, namespace, name, uid: '' }];
  });
  return controllingJob(namespace, ownerReferences) ?? named[0];
}

/** The jobs of these pods, each once: compared by the whole reference, so that a pod that claims another job's UID cannot replace it. */
export function jobsOfPods(pods: readonly V1Pod[]): JobRef[] {
  const jobs = pods.flatMap((pod) => jobOfPod(pod) ?? []);
  return [...new Map(jobs.map((job) => [jobKey(job), job])).values()];
}
