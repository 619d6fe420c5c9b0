/**
 * Jobs that another job made. Its maker writes `suspend` of what it made, and creates it anew: stopped alone it would be let go on at once.
 * So it is never recovered on its own, whatever labels it carries; its pods belong to the maker.
 */

import type { V1ObjectMeta, V1OwnerReference } from '@kubernetes/client-node';
import type { JobKind, JobRef } from '../../contract/jobs.ts';
import { isObjectName, isObjectUid } from '../../contract/object-names.ts';

/** What owner references to each kind that makes jobs begin with, and its name there. Of most kinds the version may be newer than the one that we know. */
const ownerKinds = {
  JobSet: { apiVersion: 'jobset.x-k8s.io/', kind: 'JobSet' },
  TrainJob: { apiVersion: 'trainer.kubeflow.org/', kind: 'TrainJob' },
  MPIJobV2beta1: { apiVersion: 'kubeflow.org/v2', kind: 'MPIJob' },
  RayJob: { apiVersion: 'ray.io/', kind: 'RayJob' },
} as const satisfies Partial<Record<JobKind, object>>;

/** What may make a job of the kind, and never the other way round: anybody can write an owner reference in a circle, and every way up must end. */
const ownerKindsOf: Partial<Record<JobKind, readonly (keyof typeof ownerKinds)[]>> = {
  Job: ['JobSet', 'TrainJob', 'MPIJobV2beta1', 'RayJob'],
  JobSet: ['TrainJob'],
  RayCluster: ['RayJob'],
};

/** Whether jobs of the kind may have been made by another job. */
export const mayHaveOwnerJob = (kind: JobKind): boolean => ownerKindsOf[kind] !== undefined;

/** The API server only looks that neither is empty: a name with `/` or `?` in it would be the path of another object. */
export const canBe = ({ name, uid }: Pick<V1OwnerReference, 'name' | 'uid'>): boolean => isObjectName(name) && isObjectUid(uid);

/** What controls an object, as its owner references claim. */
export const controllerOf = (owners: readonly V1OwnerReference[] | undefined): V1OwnerReference | undefined =>
  owners?.find(({ controller }) => controller === true);

/** The job that made the one of this kind with this metadata: what an owner reference claims, of an object in the same namespace. */
export function ownerJobOf(child: JobKind, { namespace = '', ownerReferences }: V1ObjectMeta = {}): JobRef | undefined {
  const owner = controllerOf(ownerReferences);
  const kind = ownerKindsOf[child]?.find((each) => ownerKinds[each].kind === owner?.kind && owner.apiVersion.startsWith(ownerKinds[each].apiVersion));
  return owner && kind && canBe(owner) ? { kind, namespace, name: owner.name, uid: owner.uid } : undefined;
}

/** A job by all that an owner reference says: whoever writes one may know the UID of a job in a namespace that is not theirs. */
export const jobKey = ({ kind, namespace, name, uid }: JobRef): string => `${kind}/${namespace}/${name}/${knownByName.has(kind) ? '' : uid}`;

/** Kinds whose pods tell the name of their job alone (`namedBy`). */
const knownByName: ReadonlySet<JobKind> = new Set(['LeaderWorkerSet']);

export const isSameJob = (a: JobRef, b: JobRef): boolean => a.uid === b.uid && jobKey(a) === jobKey(b);
