/** Prepares the jobs of a storm: they run, are watched, and have an agent on the node that will break. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import { jobWorkflowId, nodeWorkflowId } from '../contract/ids.ts';
import { inParallel } from '../kube/client/parallel.ts';
import { awaitRunning, createJob, podsOf, type RunningJob } from '../testbed/jobs.ts';
import type { SimulatedNode } from '../testbed/nodes.ts';
import { historyLength } from './histories.ts';
import { isWatched, type BenchStage } from './stage.ts';
import { stormJob, type StormPlan } from './storm-plan.ts';
import { restMs } from './trial.ts';

/** One job of a storm and its fault. */
export interface AffectedJob {
  readonly job: RunningJob;
  /** The pod that fails, or whose node breaks. */
  readonly pod: V1Pod;
  readonly node: SimulatedNode;
  /** UIDs before the fault. */
  readonly old: ReadonlySet<string>;
  /** Length of its history before the fault. */
  readonly eventsBefore: number;
}

const runningWithinMs = 240_000;

export async function prepareJobs(stage: BenchStage, plan: StormPlan, number: number): Promise<AffectedJob[]> {
  const { cluster, client } = stage;
  const jobs = await inParallel(
    Array.from({ length: plan.count }, (_, index) => stormJob(plan, `storm-${number}-${index}`)),
    (manifest) => createJob(cluster.api, manifest),
    16,
  );
  await inParallel(jobs, (job) => awaitRunning(cluster.api, job, { withinMs: runningWithinMs }), 8);
  await inParallel(jobs, (job) => isWatched(client, job), 8);
  const affectedJobs = await inParallel(jobs, (job) => affectedJobOf(stage, job), 8);
  const nodes = new Map(affectedJobs.map(({ node }) => [node.name, node]));
  await stage.watch([...nodes.values()]);
  await sleep(restMs);
  return affectedJobs;
}

async function affectedJobOf({ cluster, client }: BenchStage, job: RunningJob): Promise<AffectedJob> {
  const pods = await podsOf(cluster.api, job);
  const pod = pods.at(-1);
  const node = cluster.nodes.find(({ name }) => name === pod?.spec?.nodeName);
  if (pod === undefined || node === undefined) throw new Error(`${job.name} has no pod on a node`);
  const eventsBefore = await historyLength(client, jobWorkflowId(job));
  return { job, pod, node, old: new Set(pods.map(({ metadata }) => metadata?.uid ?? '')), eventsBefore };
}

export const workflowIdsOf = ({ job, node }: AffectedJob): { readonly job: string; readonly node: string } => ({
  job: jobWorkflowId(job),
  node: nodeWorkflowId(node.name),
});
