/** Drops large fields that kcover does not read from watched objects: for nodes and pods, more than half of their size. */

import type { KubernetesObject, V1Container, V1Node, V1ObjectMeta, V1Pod } from '@kubernetes/client-node';

/** A copy without these fields: objects from which fields are deleted take more memory. */
const without = <T extends object>(object: T, ...names: readonly (keyof T & string)[]): T =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.some((each) => each === name))) as T;

/** What a watch itself needs of an object: enough to tell its versions apart. */
export const identityOf = ({
  metadata: { name, namespace, uid, resourceVersion } = {},
}: KubernetesObject): V1ObjectMeta => ({
  ...(name !== undefined && { name }),
  ...(namespace !== undefined && { namespace }),
  ...(uid !== undefined && { uid }),
  ...(resourceVersion !== undefined && { resourceVersion }),
});

export const trimNode = (node: V1Node): V1Node => ({
  ...node,
  ...(node.metadata && { metadata: without(node.metadata, 'managedFields') }),
  ...(node.status && { status: without(node.status, 'images', 'volumesAttached', 'volumesInUse') }),
});

const trimContainer = (container: V1Container): V1Container =>
  without(
    container,
    'args',
    'command',
    'env',
    'envFrom',
    'lifecycle',
    'livenessProbe',
    'readinessProbe',
    'startupProbe',
    'volumeMounts',
  );

export const trimPod = (pod: V1Pod): V1Pod => ({
  ...pod,
  ...(pod.metadata && { metadata: without(pod.metadata, 'managedFields') }),
  ...(pod.spec && {
    spec: {
      ...without(pod.spec, 'affinity', 'tolerations', 'topologySpreadConstraints', 'volumes'),
      containers: pod.spec.containers.map(trimContainer),
      ...(pod.spec.initContainers && { initContainers: pod.spec.initContainers.map(trimContainer) }),
    },
  }),
});
