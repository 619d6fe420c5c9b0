/** Stores the pause of the whole cluster in a ConfigMap, which outlives the workflow and can be read with kubectl. */

import type { V1ConfigMap } from '@kubernetes/client-node';
import type { StoredPause } from '../contract/cluster.ts';
import type { Kube } from './client/connection.ts';
import { isConflict } from './client/errors.ts';
import { pauseConfigMap } from './permissions.ts';
import { askKube, fieldManager, patchObject, readObject } from './client/requests.ts';

const tries = 5;

/** The last pause or resume; undefined when there is none, or it cannot be parsed. */
export async function readPause(kube: Kube, namespace: string): Promise<StoredPause | undefined> {
  return wordOf(await read(kube, namespace));
}

/** Stores a pause or resume, unless a newer one is stored, so that a late attempt changes nothing. */
export async function storePause(kube: Kube, namespace: string, word: StoredPause): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const found = await read(kube, namespace);
    if ((wordOf(found)?.at ?? 0) > word.at) return;
    try {
      await (found ? patchObject(kube, pathOf(namespace), patchOf(found, word), doing) : create(kube, namespace, word));
      return;
    } catch (error) {
      if (!isConflict(error) || attempt >= tries) throw error;
    }
  }
}

const doing = `store the pause in ConfigMap ${pauseConfigMap}`;
const pathOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps/${pauseConfigMap}`;
const read = (kube: Kube, namespace: string) =>
  readObject<V1ConfigMap>(kube, pathOf(namespace), `read ConfigMap ${namespace}/${pauseConfigMap}`);

const dataOf = ({ state, by, reason, at }: StoredPause): Record<string, string> => ({
  state,
  by,
  reason,
  at: new Date(at).toISOString(),
});

const patchOf = (found: V1ConfigMap, word: StoredPause): object => ({
  metadata: { resourceVersion: found.metadata?.resourceVersion },
  data: dataOf(word),
});

function create(kube: Kube, namespace: string, word: StoredPause): Promise<V1ConfigMap> {
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: pauseConfigMap, namespace },
    data: dataOf(word),
  };
  return askKube(
    kube,
    {
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/configmaps`,
      query: { fieldManager },
      body: { contentType: 'application/json', text: JSON.stringify(body) },
    },
    doing,
  );
}

/** A person may have edited it. Any state but `open` counts as a pause, the safe choice. */
function wordOf(found: V1ConfigMap | undefined): StoredPause | undefined {
  if (found === undefined) return undefined;
  const { state, by = 'unknown', reason = `ConfigMap ${pauseConfigMap}`, at = '' } = found.data ?? {};
  if (state === undefined) return undefined;
  const time = Date.parse(at);
  return { state: state === 'open' ? 'open' : 'paused', by, reason, at: Number.isNaN(time) ? 0 : time };
}
