import type { Api } from '../../testbed/api.ts';

/** The priority class of a restarted job's pods. */
export const urgent = 'urgent';

/** Pods of it are scheduled before others that wait, without preempting running ones. */
export async function createPriority({ custom }: Api): Promise<void> {
  const body = {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: urgent },
    value: 1000,
    preemptionPolicy: 'Never',
  };
  await custom.createClusterCustomObject({
    group: 'scheduling.k8s.io',
    version: 'v1',
    plural: 'priorityclasses',
    body,
  });
}
