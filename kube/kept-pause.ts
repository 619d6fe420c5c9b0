/** The pause of the whole cluster as a ConfigMap: it outlives the workflow that holds it, and people can read it. */

import type { V1ConfigMap } from '@kubernetes/client-node';
import type { PauseWord } from '../contract/cluster.ts';
import type { Kube } from './connection.ts';
import { isConflict } from './errors.ts';
import { pauseConfigMap } from './permissions.ts';
import { askKube, fieldManager, patchObject, readObject } from './requests.ts';

const tries = 5;

/** What was said last; undefined when nothing was ever said, or what is kept cannot be read as that. */
export async function readPause(kube: Kube, namespace: string): Promise<PauseWord | undefined> {
  return wordOf(await read(kube, namespace));
}

/** Keeps the word, unless a newer one is kept: a try that comes late changes nothing. */
export async function keepPause(kube: Kube, namespace: string, word: PauseWord): Promise<void> {
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

const doing = `keep the pause in ConfigMap ${pauseConfigMap}`;
const pathOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps/${pauseConfigMap}`;
const read = (kube: Kube, namespace: string) => readObject<V1ConfigMap>(kube, pathOf(namespace), `read ConfigMap ${namespace}/${pauseConfigMap}`);

const dataOf = ({ state, by, reason, at }: PauseWord): Record<string, string> => ({ state, by, reason, at: new Date(at).toISOString() });

const patchOf = (found: V1ConfigMap, word: PauseWord): object => ({ metadata: { resourceVersion: found.metadata?.resourceVersion }, data: dataOf(word) });

function create(kube: Kube, namespace: string, word: PauseWord): Promise<V1ConfigMap> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: pauseConfigMap, namespace }, data: dataOf(word) };
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

/** A person may have edited it. Any state but `open` is a pause: when unsure, do less. */
function wordOf(found: V1ConfigMap | undefined): PauseWord | undefined {
  if (found === undefined) return undefined;
  const { state, by = 'unknown', reason = `ConfigMap ${pauseConfigMap}`, at = '' } = found.data ?? {};
  if (state === undefined) return undefined;
  const time = Date.parse(at);
  return { state: state === 'open' ? 'open' : 'paused', by, reason, at: Number.isNaN(time) ? 0 : time };
}
