/** Pods of a job and on a node. */

import type { V1Pod } from '@kubernetes/client-node';
import { type AttemptPod, type JobRef, jobTitle, type PodRole } from '../../contract/job/jobs.ts';
import { objectName } from '../../contract/object-names.ts';
import type { Kube } from '../client/connection.ts';
import { isConflict, isNotFound } from '../client/errors.ts';
import { jobKinds } from '../jobs/kinds/index.ts';
import { jobWithPods } from '../jobs/child-jobs.ts';
import { collectionPath, objectPath } from '../client/request-url.ts';
import { askKube, listObjects } from '../client/requests.ts';
import { timeOrEpoch } from '../client/time.ts';

export const podsPath = (namespace: string): string => collectionPath('/api/v1', namespace, 'pods');

/** The server answers a delete-collection only after it has deleted every pod, one after the other. */
const collectionMs = 90_000;

const controlledBy = (pod: V1Pod, uid: string): boolean =>
  (pod.metadata?.ownerReferences ?? []).some((owner) => owner.controller === true && owner.uid === uid);

const hasEnded = (pod: V1Pod): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';

/** Whether the pod belongs to an attempt of this job: controlled by it or its children, and not an ended pod that is only retained. */
export function belongsTo(job: JobRef, pod: V1Pod): boolean {
  const { owns, keepsEndedPods } = jobKinds[job.kind];
  return (owns ? owns(job, pod) : controlledBy(pod, job.uid)) && !(keepsEndedPods && hasEnded(pod));
}

export const isTerminating = (pod: V1Pod): boolean => pod.metadata?.deletionTimestamp !== undefined;

export const attemptPod = (pod: V1Pod): AttemptPod => ({
  name: pod.metadata?.name ?? '',
  uid: pod.metadata?.uid ?? '',
  ...(pod.spec?.nodeName && { node: pod.spec.nodeName }),
});

/** `llm-worker-2` before `llm-worker-10`. Reused, because `localeCompare` would build its rules for every pair: 25 ms to sort 200 names. */
export const byRank = new Intl.Collator('en', { numeric: true }).compare;

export interface PodsOfJob {
  readonly present: AttemptPod[];
  readonly terminating: AttemptPod[];
  /** RFC 3339, oldest creation of those present. */
  readonly oldestAt?: string;
  /** Those present that have succeeded. */
  readonly succeeded: readonly { readonly name: string; readonly succeededAs?: PodRole }[];
}

/** Everything that the job's selector matches, whatever its owner. */
export const listMatchingPods = (kube: Kube, job: JobRef): Promise<V1Pod[]> =>
  listObjects<V1Pod>(
    kube,
    podsPath(job.namespace),
    { labelSelector: jobKinds[job.kind].podSelector(job) },
    `list the pods of ${jobTitle(job)} in ${job.namespace}`,
  );

/** The pods of a job by name: the present attempt with the creation time of its oldest pod, and the terminating pods. */
export async function podsOfJob(kube: Kube, job: JobRef): Promise<PodsOfJob> {
  const theirs = await jobWithPods(kube, job);
  const pods = theirs ? (await listMatchingPods(kube, theirs)).filter((pod) => belongsTo(theirs, pod)) : [];
  const inOrder = (some: readonly V1Pod[]) => some.map(attemptPod).toSorted((a, b) => byRank(a.name, b.name));
  const present = pods.filter((pod) => !isTerminating(pod));
  const [oldestAt] = present.map(({ metadata }) => timeOrEpoch(metadata?.creationTimestamp)).toSorted();
  const succeeded = present
    .filter(({ status }) => status?.phase === 'Succeeded')
    .map((pod) => ({ name: pod.metadata?.name ?? '', ...roleOf(job, pod) }));
  return {
    present: inOrder(present),
    terminating: inOrder(pods.filter(isTerminating)),
    ...(oldestAt !== undefined && { oldestAt }),
    succeeded,
  };
}

function roleOf({ kind }: JobRef, { metadata }: V1Pod): { readonly succeededAs?: PodRole } {
  const succeededAs = jobKinds[kind].roleOf(metadata?.labels ?? {});
  return succeededAs ? { succeededAs } : {};
}

/** Pods on the node that may still run there, and on request terminating ones. */
export async function podsOnNode(kube: Kube, node: string, { terminating = false } = {}): Promise<V1Pod[]> {
  const pods = await listObjects<V1Pod>(
    kube,
    '/api/v1/pods',
    { fieldSelector: `spec.nodeName=${objectName(node)}` },
    `list the pods on node ${node}`,
  );
  return pods.filter((pod) => (terminating || !isTerminating(pod)) && pod.status?.phase !== 'Succeeded');
}

/**
 * Deletes this one UID with its own grace period, or at once with `force`, for when no kubelet will answer.
 * `gone`: it, or this UID of it, did not exist.
 */
export async function deletePod(
  kube: Kube,
  namespace: string,
  pod: Pick<AttemptPod, 'name' | 'uid'>,
  { force = false } = {},
): Promise<'deleted' | 'gone'> {
  const options = {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    preconditions: { uid: pod.uid },
    ...(force && { gracePeriodSeconds: 0 }),
  };
  const text = JSON.stringify(options);
  try {
    await askKube(
      kube,
      {
        method: 'DELETE',
        path: objectPath(podsPath(namespace), pod.name),
        body: { contentType: 'application/json', text },
      },
      `delete pod ${pod.name} in ${namespace}`,
    );
    return 'deleted';
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return 'gone';
    throw error;
  }
}

/** Deletes all pods of the selector with their own grace period. Not atomic: after an error some may be deleted. */
export async function deleteMatchingPods(kube: Kube, job: JobRef): Promise<void> {
  const query = { labelSelector: jobKinds[job.kind].podSelector(job) };
  await askKube(
    kube,
    { method: 'DELETE', path: podsPath(job.namespace), query, signal: AbortSignal.timeout(collectionMs) },
    `delete the pods of ${jobTitle(job)} in ${job.namespace}`,
  );
}
