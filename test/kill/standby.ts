/** The node of a pool that has no capacity for a scenario before it becomes a standby node. */

import type { V1Taint } from '@kubernetes/client-node';
import { type Api, merge } from '../../testbed/api.ts';
import type { Selector } from './pools.ts';

const busy: V1Taint = { key: 'testbed.kcover.io/busy', effect: 'NoSchedule' };
const standbyTaint: V1Taint = { key: 'kcover.io/spare', effect: 'NoSchedule' };

/** Removes the marks of earlier scenarios, reserves one node when requested, and returns its name. Safe to repeat. */
export async function clearPool(
  api: Api,
  selector: Selector,
  { keepsOne }: { readonly keepsOne: boolean },
): Promise<string | undefined> {
  const labelSelector = Object.entries(selector)
    .map((pair) => pair.join('='))
    .join();
  const { items } = await api.core.listNode({ labelSelector });
  const names = items.map(({ metadata }) => metadata?.name ?? '').toSorted();
  const kept = keepsOne ? names.at(-1) : undefined;
  for (const name of names) {
    await editTaints(api, name, (taints) => {
      const others = taints.filter(({ key }) => key !== busy.key && key !== standbyTaint.key);
      return name === kept ? [...others, busy] : others;
    });
  }
  return kept;
}

/** Makes the node available to a recovery. Has no further effect when repeated. */
export const makeStandby = (api: Api, name: string): Promise<void> =>
  editTaints(api, name, (taints) => taints.map((taint) => (taint.key === busy.key ? standbyTaint : taint)));

async function editTaints(
  { core }: Api,
  name: string,
  change: (taints: readonly V1Taint[]) => V1Taint[],
): Promise<void> {
  const { metadata, spec } = await core.readNode({ name });
  const body = {
    metadata: { resourceVersion: metadata?.resourceVersion },
    spec: { taints: change(spec?.taints ?? []) },
  };
  await core.patchNode({ name, body }, merge);
}
