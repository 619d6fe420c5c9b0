/** The parts of an object that are stored. Only listed fields are: never environment, arguments, foreign annotations or volumes. Pure. */

import type { KubernetesObject, V1ContainerStatus, V1Node, V1Pod } from '@kubernetes/client-node';
import { annotations } from '../../contract/ids.ts';

export function podSummary({ metadata, spec, status }: V1Pod): object {
  return {
    name: metadata?.name,
    namespace: metadata?.namespace,
    uid: metadata?.uid,
    createdAt: metadata?.creationTimestamp,
    deletionAt: metadata?.deletionTimestamp,
    node: spec?.nodeName,
    restartPolicy: spec?.restartPolicy,
    phase: status?.phase,
    reason: status?.reason,
    message: status?.message,
    startTime: status?.startTime,
    conditions: status?.conditions,
    containers: statusesOf(status).map(({ name, image, imageID, ready, restartCount, state, lastState }) => ({
      name,
      image,
      imageID,
      ready,
      restartCount,
      state,
      lastState,
    })),
  };
}

export const nodeSummary = ({ metadata, spec, status }: V1Node): object => ({
  name: metadata?.name,
  uid: metadata?.uid,
  createdAt: metadata?.creationTimestamp,
  unschedulable: spec?.unschedulable === true,
  taints: spec?.taints ?? [],
  conditions: status?.conditions ?? [],
  capacity: status?.capacity,
  allocatable: status?.allocatable,
  nodeInfo: status?.nodeInfo,
});

const progressKeys = [annotations.step, annotations.checkpointStep, annotations.progressAt, annotations.training];

export const jobSummary = ({ apiVersion, kind, metadata, ...rest }: KubernetesObject): object => ({
  apiVersion,
  kind,
  name: metadata?.name,
  namespace: metadata?.namespace,
  uid: metadata?.uid,
  createdAt: metadata?.creationTimestamp,
  generation: metadata?.generation,
  annotations: Object.fromEntries(
    progressKeys.flatMap((key) =>
      metadata?.annotations?.[key] === undefined ? [] : [[key, metadata.annotations[key]]],
    ),
  ),
  status: 'status' in rest ? rest.status : undefined,
});

export interface LogOf {
  readonly container: string;
  readonly previous: boolean;
}

/** The logs that a pod has: of containers that started, and from before their last restart. */
export const logsOf = ({ status }: V1Pod): readonly LogOf[] =>
  statusesOf(status).flatMap(({ name, state, lastState }) => [
    ...(state?.running || state?.terminated ? [{ container: name, previous: false }] : []),
    ...(lastState?.terminated ? [{ container: name, previous: true }] : []),
  ]);

/** Training containers first. */
const statusesOf = (status: V1Pod['status']): readonly V1ContainerStatus[] => [
  ...(status?.containerStatuses ?? []),
  ...(status?.initContainerStatuses ?? []),
  ...(status?.ephemeralContainerStatuses ?? []),
];
