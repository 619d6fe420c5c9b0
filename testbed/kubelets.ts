/** Behaviour of kubelets that simulated ones lack. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import { type Api, merge } from './api.ts';
import { isRunning } from './jobs.ts';

const everyMs = 5000;
const times = 12;

/**
 * For a minute, touches pods that have not reached their state: a kubelet retries a failed write, a simulated one does so only when the pod changes.
 * Never rejects.
 */
export async function syncPods(api: Api): Promise<void> {
  for (let time = 0; time < times; time++) {
    await sleep(everyMs, undefined, { ref: false });
    await touchWaiting(api).catch(() => undefined);
  }
}

async function touchWaiting(api: Api): Promise<void> {
  const { items } = await api.core.listPodForAllNamespaces();
  const body = { metadata: { annotations: { 'testbed.kcover.io/synced': new Date().toISOString() } } };
  await Promise.all(
    items
      .filter(waits)
      .map(({ metadata }) =>
        api.core.patchNamespacedPod({ name: metadata?.name ?? '', namespace: metadata?.namespace ?? '', body }, merge),
      ),
  );
}

const waits = (pod: V1Pod): boolean =>
  pod.spec?.nodeName !== undefined &&
  pod.status?.phase !== 'Succeeded' &&
  pod.status?.phase !== 'Failed' &&
  !isRunning(pod);
