import type { V1ConfigMap } from '@kubernetes/client-node';
import type { Kube } from './client/connection.ts';
import { collectionPath, objectPath } from './client/request-url.ts';
import { readObject } from './client/requests.ts';

/** Undefined when there is none. */
export const readConfigMap = (kube: Kube, namespace: string, name: string): Promise<V1ConfigMap | undefined> =>
  readObject<V1ConfigMap>(
    kube,
    objectPath(collectionPath('/api/v1', namespace, 'configmaps'), name),
    `read ConfigMap ${namespace}/${name}`,
  );
