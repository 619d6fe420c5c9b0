/** Every kind of job, by name. A new kind of the Kubeflow operator is one entry in `kubeflow-kinds.ts`, any other one file and one line here. */

import type { V1OwnerReference, V1Pod } from '@kubernetes/client-node';
import type { JobKind, JobRef } from '../../contract/jobs.ts';
import { jobKinds as kinds } from '../../contract/jobs.ts';
import { collectionPath, objectPath } from '../request-url.ts';
import { batchJob } from './batch-job.ts';
import type { JobKindEntry } from './entry.ts';
import { jobSet } from './jobset.ts';
import { kubeflowKinds } from './kubeflow-kinds.ts';
import { canBe, jobKey } from './makers.ts';
import { trainJob } from './trainjob.ts';

export type { JobKindEntry, QuarantineTaint } from './entry.ts';
export { canBe, isMade, isSameJob, jobKey, makerOf } from './makers.ts';
export { suspensionMark } from './view.ts';

export const jobKinds = { ...kubeflowKinds, Job: batchJob, JobSet: jobSet, TrainJob: trainJob } satisfies Record<JobKind, JobKindEntry>;

/** Where all jobs of a kind are listed and watched. */
export const watchPath = ({ group, version, plural }: JobKindEntry): string => `/apis/${group}/${version}/${plural}`;

/** Where the jobs of one namespace are. */
export const namespacePath = ({ group, version, plural }: JobKindEntry, namespace: string): string =>
  collectionPath(`/apis/${group}/${version}`, namespace, plural);

/** Where one job is. */
export const jobPath = (job: JobRef): string => objectPath(namespacePath(jobKinds[job.kind], job.namespace), job.name);

/** The job that controls an object, as its owner reference claims, when it is of a known kind. It may itself have been made by another job: see `makerOf`. */
export function controllingJob(namespace: string, owners: readonly V1OwnerReference[] | undefined): JobRef | undefined {
  const owner = owners?.find((each) => each.controller === true);
  const kind = kinds.find((each) => each === owner?.kind && jobKinds[each].apiVersion === owner.apiVersion);
  return owner && kind && canBe(owner) ? { kind, namespace, name: owner.name, uid: owner.uid } : undefined;
}

/** The jobs that control these pods, each once: by all that a reference says, for who claims the UID of another job must not take its place. */
export function controllingJobs(pods: readonly V1Pod[]): JobRef[] {
  const jobs = pods.flatMap(({ metadata }) => controllingJob(metadata?.namespace ?? '', metadata?.ownerReferences) ?? []);
  return [...new Map(jobs.map((job) => [jobKey(job), job])).values()];
}
