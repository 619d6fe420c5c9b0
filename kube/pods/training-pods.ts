/** Pods that may report progress of training: rank, node and start time. Pure. */

import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import type { JobRef } from '../../contract/job/jobs.ts';
import { type PodPlace, memberOf } from './ranks.ts';
import { timeOf, timeOrEpoch } from '../client/time.ts';
import { acceleratorsIn } from '../nodes/nodes.ts';
import { requestsOf } from './requests.ts';

export interface TrainingPod {
  readonly name: string;
  readonly uid: string;
  /** The container that trains: the one that `kubectl logs` shows. */
  readonly container: string;
  readonly job: JobRef;
  /** Workload name, as in the name of a progress file. */
  readonly workload: string;
  readonly place: PodPlace;
  readonly node: string;
  /** How many it asks for, of whatever resource; absent where it asks for none. */
  readonly accelerators?: number;
  /** RFC 3339, whole seconds, the API server's clock. */
  readonly createdAt: string;
  /** RFC 3339, whole seconds, the node's clock: start of the first of its containers, of those that run or ran last. Absent before. */
  readonly startedAt?: string;
  /** Whether it belongs to the present attempt: it is neither terminating nor ended. */
  readonly present: boolean;
  /** Its containers have ended for good. */
  readonly ended?: true;
}

/** Undefined for a pod without a node, a job or a rank. */
export function trainingPodOf(pod: V1Pod): TrainingPod | undefined {
  const member = memberOf(pod);
  const node = pod.spec?.nodeName;
  if (!member?.place || !member.workload.job || !node) return undefined;
  const { metadata, status } = pod;
  const ended = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const startedAt = (status?.containerStatuses ?? []).flatMap((container) => startOf(container) ?? []).toSorted()[0];
  const accelerators = Object.values(acceleratorsIn(requestsOf(pod.spec))).reduce((sum, count) => sum + count, 0);
  return {
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    container: trainerOf(pod),
    job: member.workload.job,
    workload: member.workload.name,
    place: member.place,
    node,
    ...(accelerators > 0 && { accelerators }),
    createdAt: timeOrEpoch(metadata?.creationTimestamp),
    ...(startedAt !== undefined && { startedAt }),
    present: !ended && metadata?.deletionTimestamp === undefined,
    ...(ended && { ended }),
  };
}

/** As kubectl chooses it. Whatever adds containers to pods sets the annotation, or adds them behind the first. */
function trainerOf({ metadata, spec }: V1Pod): string {
  const names = spec?.containers.map(({ name }) => name) ?? [];
  return names.find((name) => name === metadata?.annotations?.[defaultContainer]) ?? names[0] ?? '';
}

const defaultContainer = 'kubectl.kubernetes.io/default-container';

/** Whether it runs: it is not terminating, and none of its containers waits to be started. */
export function isWorking({ metadata, status }: V1Pod): boolean {
  const states = (status?.containerStatuses ?? []).map(({ state }) => state);
  const runs = states.some((state) => state?.running) && !states.some((state) => state?.waiting);
  return runs && status?.phase === 'Running' && metadata?.deletionTimestamp === undefined;
}

/** A container that could not start has no start time, or one in 1970. */
function startOf({ state, lastState }: V1ContainerStatus): string | undefined {
  const from = timeOf(state?.running?.startedAt ?? state?.terminated?.startedAt ?? lastState?.terminated?.startedAt);
  return from === undefined || Date.parse(from) === 0 ? undefined : from;
}
