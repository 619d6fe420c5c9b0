/** The label that marks the leading controller's pod. */

import type { V1Pod } from '@kubernetes/client-node';
import { leaderLabel } from '../../contract/ids.ts';
import type { Kube } from '../client/connection.ts';
import { isNotFound } from '../client/errors.ts';
import { podsPath } from './pods.ts';
import { objectPath } from '../client/request-url.ts';
import { listObjects, patchObject } from '../client/requests.ts';

/** Reads and writes the label in one namespace for the controllers of one Lease: another release in it has its own Lease. Throws `KcoverError`. */
export interface LabelStore {
  /** Names of the pods with the label. */
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
      await patchObject<V1Pod>(
        kube,
        objectPath(pods, pod),
        { metadata: { labels: { [leaderLabel.key]: value } } },
        `${doing} pod ${namespace}/${pod}`,
      );
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  return {
    labelled: async () =>
      (await listObjects<V1Pod>(kube, pods, { labelSelector: selector }, 'list the pods with the leader label')).map(
        ({ metadata }) => metadata?.name ?? '',
      ),
    label: (pod) => write(pod, lease, 'label'),
    clear: async (pod) => void (await write(pod, null, 'remove the leader label of')),
  };
}
