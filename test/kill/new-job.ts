import { randomUUID } from 'node:crypto';
import type { PytorchJobOptions } from '../../testbed/job-manifests.ts';
import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';
import { surely } from './processes.ts';

/** Resolves when it runs, whatever is killed meanwhile. */
export const newJob = (live: LiveKcover, options: Partial<PytorchJobOptions>): Promise<LiveJob> =>
  surely('a new job', () => tryJob(live, options));

/** After a lost answer the job may exist all the same, and would take the nodes of others. */
async function tryJob(live: LiveKcover, options: Partial<PytorchJobOptions>): Promise<LiveJob> {
  const { custom } = live.cluster.api;
  const name = `llm-${randomUUID().slice(0, 8)}`;
  try {
    return await live.pytorch({ ...options, name });
  } catch (error) {
    const kind = { group: 'kubeflow.org', version: 'v1', plural: 'pytorchjobs' };
    const { items } = (await surely('jobs', () => custom.listClusterCustomObject(kind))) as {
      items: { metadata: { name: string; namespace: string } }[];
    };
    const left = items.find(({ metadata }) => metadata.name === name)?.metadata;
    if (left) await custom.deleteNamespacedCustomObject({ ...kind, ...left });
    throw error;
  }
}
