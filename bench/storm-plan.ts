/** Parameters of a storm. */

import { batchJob, type JobManifest, pytorchJob } from '../testbed/job-manifests.ts';
import { namespace } from './variants.ts';

export interface StormPlan {
  /** `jobs`: a container of each job fails. `nodes`: a kernel line on the node of each job. */
  readonly hits: 'jobs' | 'nodes';
  readonly count: number;
  readonly kind: 'Job' | 'PyTorchJob';
  readonly limit: 'all' | 'default';
  /** How many of them may be recovered: a node beyond the limit is held, and so is its job. */
  readonly allowed: number;
}

const gpusPerNode = 8;

/** Two pods, of which one fails; for node faults one pod that fills its node, so that every fault hits one job. */
const shapes = { jobs: { pods: 2, gpus: 1 }, nodes: { pods: 1, gpus: gpusPerNode } } as const;

/** As many as the jobs fill, as many again when nodes break, and one extra. */
export function nodesOf(hits: StormPlan['hits'], count: number): number {
  const { pods, gpus } = shapes[hits];
  const filled = Math.ceil((count * pods * gpus) / gpusPerNode);
  return filled * (hits === 'nodes' ? 2 : 1) + 1;
}

/** The default limit of the settings: two nodes, or a tenth. */
export function planOf({ hits, count, limit, kind }: Omit<StormPlan, 'allowed'>): StormPlan {
  const byDefault = Math.max(2, Math.floor(nodesOf(hits, count) / 10));
  return {
    hits,
    count,
    limit,
    kind,
    allowed: hits === 'nodes' && limit === 'default' ? Math.min(count, byDefault) : count,
  };
}

export function stormJob({ hits, kind }: StormPlan, name: string): JobManifest {
  const { pods, gpus } = shapes[hits];
  const common = { name, namespace, gpus, labels: { 'kcover.io/cascading-recovery': 'true' } };
  // Containers that their kubelet restarts; a batch Job counts each restart.
  return kind === 'Job'
    ? batchJob({ ...common, pods, restartPolicy: 'OnFailure', backoffLimit: 100 })
    : pytorchJob({ ...common, workers: pods - 1 });
}
