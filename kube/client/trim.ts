/** Drops what kcover does not read from watched objects: for nodes and pods, more than half of their size, and whatever a tenant may make large. */

import type { KubernetesObject, V1Container, V1Node, V1ObjectMeta, V1Pod, V1PodSpec } from '@kubernetes/client-node';

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

/** What is read of a container. Its image and its command may be as long as the API server allows. */
const trimContainer = ({ name, resources, restartPolicy }: V1Container): V1Container => ({
  name,
  ...(resources && { resources }),
  ...(restartPolicy !== undefined && { restartPolicy }),
});

const trimSpec = ({
  nodeName,
  restartPolicy,
  overhead,
  resources,
  containers,
  initContainers,
}: V1PodSpec): V1PodSpec => ({
  ...(nodeName !== undefined && { nodeName }),
  ...(restartPolicy !== undefined && { restartPolicy }),
  ...(overhead && { overhead }),
  ...(resources && { resources }),
  containers: containers.map(trimContainer),
  ...(initContainers && { initContainers: initContainers.map(trimContainer) }),
});

/** Longest value of an annotation that is kept: those that are read are names and numbers. */
const mostAnnotation = 253;

const trimMetadata = (metadata: V1ObjectMeta): V1ObjectMeta => ({
  ...without(metadata, 'managedFields'),
  ...(metadata.annotations && {
    annotations: Object.fromEntries(
      Object.entries(metadata.annotations).filter(([, value]) => value.length <= mostAnnotation),
    ),
  }),
});

export const trimPod = (pod: V1Pod): V1Pod => ({
  ...pod,
  ...(pod.metadata && { metadata: trimMetadata(pod.metadata) }),
  ...(pod.spec && { spec: trimSpec(pod.spec) }),
});
