/**
 * Jobs that another job owns. The owner sets `suspend` of its child and recreates it, so a child that is stopped alone would be resumed at once.
 * A child is therefore never recovered on its own, whatever labels it has; its pods belong to the owner.
 */

import type { V1ObjectMeta, V1OwnerReference } from '@kubernetes/client-node';
import type { JobKind, JobRef } from '../../../contract/job/jobs.ts';
import { isObjectName, isObjectUid } from '../../../contract/object-names.ts';

/** Prefix of the apiVersion, and kind, in owner references to each kind that owns jobs. The prefix allows newer versions of most kinds. */
const ownerKinds = {
  JobSet: { apiVersion: 'jobset.x-k8s.io/', kind: 'JobSet' },
  TrainJob: { apiVersion: 'trainer.kubeflow.org/', kind: 'TrainJob' },
  MPIJobV2beta1: { apiVersion: 'kubeflow.org/v2', kind: 'MPIJob' },
  RayJob: { apiVersion: 'ray.io/', kind: 'RayJob' },
} as const satisfies Partial<Record<JobKind, object>>;

/** Possible owners of each kind, without cycles: owner references can be forged into a cycle, and following them must end. */
const ownerKindsOf: Partial<Record<JobKind, readonly (keyof typeof ownerKinds)[]>> = {
  Job: ['JobSet', 'TrainJob', 'MPIJobV2beta1', 'RayJob'],
  JobSet: ['TrainJob'],
  RayCluster: ['RayJob'],
};

/** Whether jobs of the kind may have an owner job. */
export const mayHaveOwnerJob = (kind: JobKind): boolean => ownerKindsOf[kind] !== undefined;

/** The API server only checks that neither is empty: a name with `/` or `?` would form the path of another object. */
export const isValidOwner = ({ name, uid }: Pick<V1OwnerReference, 'name' | 'uid'>): boolean =>
  isObjectName(name) && isObjectUid(uid);

/** The controller of an object, as its owner references claim. */
export const controllerOf = (owners: readonly V1OwnerReference[] | undefined): V1OwnerReference | undefined =>
  owners?.find(({ controller }) => controller === true);

/** The owner of the job of this kind with this metadata, as an owner reference claims; it is in the same namespace. */
export function ownerJobOf(child: JobKind, { namespace = '', ownerReferences }: V1ObjectMeta = {}): JobRef | undefined {
  const owner = controllerOf(ownerReferences);
  const kind = ownerKindsOf[child]?.find(
    (each) => ownerKinds[each].kind === owner?.kind && owner.apiVersion.startsWith(ownerKinds[each].apiVersion),
  );
  return owner && kind && isValidOwner(owner) ? { kind, namespace, name: owner.name, uid: owner.uid } : undefined;
}

/** Identifies a job by its whole owner reference: a forged one may have the UID of a job in another namespace. */
export const jobKey = ({ kind, namespace, name, uid }: JobRef): string =>
  `${kind}/${namespace}/${name}/${knownByName.has(kind) ? '' : uid}`;

/** Kinds whose pods give only the name of their job (`namedBy`). */
const knownByName: ReadonlySet<JobKind> = new Set(['LeaderWorkerSet']);

export const isSameJob = (a: JobRef, b: JobRef): boolean => a.uid === b.uid && jobKey(a) === jobKey(b);
