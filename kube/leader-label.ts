/** The label on the pods of controllers that says which of them leads. What it means is the caller's business. */

import type { V1Pod } from '@kubernetes/client-node';
import { leaderLabel } from '../contract/ids.ts';
import type { Kube } from './connection.ts';
import { isNotFound } from './errors.ts';
import { podsPath } from './pods.ts';
import { objectPath } from './request-url.ts';
import { listObjects, patchObject } from './requests.ts';

/** The label on pods of one namespace, as the controllers of one Lease wear it: another release beside them has a Lease of its own. Throws `KcoverError`. */
export interface LabelStore {
  /** Names of the pods that carry the label. */
  labelled(): Promise<readonly string[]>;
  /** False when there is no such pod. */
  label(pod: string): Promise<boolean>;
  /** Does nothing where there is no such pod, or no label. */
  clear(pod: string): Promise<void>;
}

export function leaderLabels(kube: Kube, namespace: string, lease: string): LabelStore {
  const pods = podsPath(namespace);
  const selector = `${leaderLabel.key}=${lease}`;

  async function write(pod: string, value: string | null, doing: string): Promise<boolean> {
    try {
      await patchObject<V1Pod>(kube, objectPath(pods, pod), { metadata: { labels: { [leaderLabel.key]: value } } }, `${doing} pod ${namespace}/${pod}`);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  return {
    labelled: async () =>
      (await listObjects<V1Pod>(kube, pods, { labelSelector: selector }, 'list the pods that lead')).map(({ metadata }) => metadata?.name ?? ''),
    label: (pod) => write(pod, lease, 'label'),
    clear: async (pod) => void (await write(pod, null, 'take the leader label off')),
  };
}
