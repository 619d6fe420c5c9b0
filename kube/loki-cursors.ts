/** Stores how far the lines of each query of Loki were read, in one ConfigMap, so that the next leader continues there. */

import type { V1ConfigMap } from '@kubernetes/client-node';
import type { Kube } from './client/connection.ts';
import { isConflict, isNotFound } from './client/errors.ts';
import { askKube, patchObject, readObject } from './client/requests.ts';
import { lokiConfigMap } from './permissions.ts';

const manager = 'kcover-controller';
const doing = `store the position in Loki in ConfigMap ${lokiConfigMap}`;
const listOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const pathOf = (namespace: string): string => `${listOf(namespace)}/${lokiConfigMap}`;

/** By name of the query, as text; empty before the first write. */
export async function readLokiCursors(kube: Kube, namespace: string): Promise<Readonly<Record<string, string>>> {
  const found = await readObject<V1ConfigMap>(kube, pathOf(namespace), `read ConfigMap ${namespace}/${lokiConfigMap}`);
  return found?.data ?? {};
}

/** Only the leader writes. A late write of the previous leader would only have lines read again, whose faults have the same ids. */
export async function storeLokiCursor(kube: Kube, namespace: string, query: string, cursor: string): Promise<void> {
  const data = { [query]: cursor };
  try {
    await patchObject(kube, pathOf(namespace), { data }, doing, manager);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await create(kube, namespace, data);
  }
}

/** Two queries may create it at once. */
async function create(kube: Kube, namespace: string, data: Record<string, string>): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: lokiConfigMap, namespace }, data };
  try {
    await askKube(
      kube,
      {
        method: 'POST',
        path: listOf(namespace),
        query: { fieldManager: manager },
        body: { contentType: 'application/json', text: JSON.stringify(body) },
      },
      doing,
    );
  } catch (error) {
    if (!isConflict(error)) throw error;
    await patchObject(kube, pathOf(namespace), { data }, doing, manager);
  }
}
