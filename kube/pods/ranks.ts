/** The workload of a pod and its rank in it, for preflight and training alike. Pure. */

import type { V1Pod } from '@kubernetes/client-node';
import type { Workload } from '../../contract/preflight/preflight.ts';
import { isObjectName, isObjectUid } from '../../contract/object-names.ts';
import { isValidOwner, controllerOf, controllingJob } from '../jobs/kinds/index.ts';

const lws = 'leaderworkerset.sigs.k8s.io';
const training = 'training.kubeflow.org';
const batchLabel = 'batch.kubernetes.io';

/** Its place among the pods of its workload. A worker's rank depends on whether there is a master. */
export type PodPlace = { readonly rank: number } | { readonly worker: number };

export interface WorkloadMember {
  readonly workload: Workload;
  /** Undefined for a pod without a rank, such as a parameter server. */
  readonly place: PodPlace | undefined;
}

/** Whether a role of a Kubeflow job is rank 0 and moves its workers up by one. */
export const isMaster = (role: string | undefined): boolean =>
  role === 'master' || role === 'chief' || role === 'launcher';

/** The first workload kind that matches. A LeaderWorkerSet comes first, because its pods may have labels of others. Undefined where there are no ranks. */
export function memberOf(pod: V1Pod): WorkloadMember | undefined {
  const { namespace = '', labels: worn = {}, annotations: noted = {}, ownerReferences } = pod.metadata ?? {};
  const controller = controllerOf(ownerReferences);
  // With an invalid name it is no pod of a workload at all, not one of an unknown kind.
  if (controller && !isValidOwner(controller)) return undefined;
  const job = controllingJob(namespace, ownerReferences);
  const owner = controller?.uid;
  const member = (name: string, uid: string | undefined, place: PodPlace | undefined): WorkloadMember | undefined =>
    !isObjectName(name) || !isObjectUid(uid)
      ? undefined
      : { workload: { namespace, name, uid, ...(job && { job }) }, place };

  const set = worn[`${lws}/name`];
  if (set) {
    const group = worn[`${lws}/group-index`] ?? '';
    return decimal(group) === undefined
      ? undefined
      : member(`${set}-${group}`, worn[`${lws}/group-key`] || owner, ranked(worn[`${lws}/worker-index`]));
  }
  const kubeflow = worn[`${training}/job-name`];
  if (kubeflow)
    return member(kubeflow, owner, placeOf(worn[`${training}/replica-type`], worn[`${training}/replica-index`]));
  const batch = worn[`${batchLabel}/job-name`] ?? worn['job-name'];
  const index = `${batchLabel}/job-completion-index`;
  return batch ? member(batch, owner, ranked(noted[index] ?? worn[index])) : undefined;
}

const decimal = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined;

function ranked(text: string | undefined): PodPlace | undefined {
  const rank = decimal(text);
  return rank === undefined ? undefined : { rank };
}

/** Parameter servers and evaluators have no rank. */
function placeOf(type: string | undefined, index: string | undefined): PodPlace | undefined {
  const role = type?.toLowerCase();
  if (isMaster(role)) return { rank: 0 };
  const worker = role === 'worker' ? decimal(index) : undefined;
  return worker === undefined ? undefined : { worker };
}

/** `led`: whether there is a master. While that is not known (undefined), a worker's rank is not known either. */
export function rankOf(place: PodPlace | undefined, led: boolean | undefined): number | undefined {
  if (place === undefined || 'rank' in place) return place?.rank;
  return led === undefined ? undefined : place.worker + (led ? 1 : 0);
}
