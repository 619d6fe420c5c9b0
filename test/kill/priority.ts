import type { Api } from '../../testbed/api.ts';

/** What the pods of a restarted job are given here. */
export const urgent = 'urgent';

/** Pods of it come before others that wait, and take no room from those that run. */
export async function createPriority({ custom }: Api): Promise<void> {
  const body = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: urgent }, value: 1000, preemptionPolicy: 'Never' };
  await custom.createClusterCustomObject({ group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses', body });
}
