/** Where it is measured: a world with kcover in it, a witness outside, and bare hands. */

import { Client, Connection } from '@temporalio/client';
import { jobWorkflowId } from '../contract/ids.ts';
import { statusQuery } from '../contract/messages.ts';
import type { JobStatus } from '../contract/training-job.ts';
import { connectKube } from '../kube/connection.ts';
import { awaitRunning, createJob, podsOf, type RunningJob } from '../testbed/jobs.ts';
import { pytorchJob } from '../testbed/job-manifests.ts';
import { type Kcover, startKcover } from '../testbed/roles.ts';
import { until } from '../testbed/until.ts';
import { startWorld, stopOnSignals, type World } from '../testbed/world.ts';
import { BareHands } from './bare.ts';
import { namespace, nodesFor } from './variants.ts';
import { Witness } from './witness.ts';

export interface Stage {
  readonly world: World;
  readonly kcover: Kcover;
  readonly client: Client;
  readonly witness: Witness;
  readonly hands: BareHands;
  /** A job that nothing ever happens to, and the node it runs on: that node is never broken. */
  readonly healthy: { readonly job: RunningJob; readonly node: string; readonly since: number };
  end(): Promise<void>;
}

export interface StageOptions {
  readonly pods: number;
  readonly tell: (line: string) => void;
}

export async function setStage({ pods, tell }: StageOptions): Promise<Stage> {
  // One node is out, and one carries the healthy job.
  const world = await startWorld({ nodes: nodesFor(pods) + 2, onProgress: tell });
  stopOnSignals(world);
  try {
    tell(`${world.nodes.length} nodes; starting kcover`);
    const workerSettings = {
      quarantine: { limit: { atLeast: world.nodes.length } },
      // The window is shown apart: a constant that somebody chose is not a measurement.
      recovery: { correlation: '0ms' },
    };
    const kcover = await startKcover(world, { mode: 'act', workerSettings });
    await world.api.core.createNamespace({ body: { metadata: { name: namespace } } });
    const kube = connectKube({ kubeconfig: world.kubernetes.kubeconfig });
    const over = new AbortController();
    const witness = new Witness(kube, namespace, over.signal);
    await witness.ready;
    const connection = await Connection.connect({ address: world.temporal.address });
    const client = new Client({ connection, namespace: world.temporal.namespace });
    const hands = new BareHands(world.kubernetes.kubeconfig);
    const end = async (): Promise<void> => {
      over.abort();
      await Promise.allSettled([kube.close(), hands.close(), connection.close()]);
      await kcover.stop();
      await world.stop();
    };
    return { world, kcover, client, witness, hands, healthy: await startHealthyJob(world, client), end };
  } catch (error) {
    await world.stop();
    throw error;
  }
}

async function startHealthyJob(world: World, client: Client): Promise<Stage['healthy']> {
  const job = await createJob(world.api, pytorchJob({ name: 'healthy', namespace, workers: 0, gpus: 0, labels: { 'kcover.io/cascading-recovery': 'true' } }));
  await awaitRunning(world.api, job);
  await isWatched(client, job);
  const [pod] = await podsOf(world.api, job);
  return { job, node: pod?.spec?.nodeName ?? '', since: Date.now() };
}

/** Waits until the job's workflow has nothing to do; with `afterIncident`, until it has heard how one ended. */
export function isWatched(client: Client, job: RunningJob, afterIncident = false): Promise<JobStatus> {
  return until(`job/${job.name} watching`, 60_000, async () => {
    const status = await client.workflow.getHandle(jobWorkflowId(job)).query<JobStatus>(statusQuery);
    if (status.phase === 'watching' && (status.last !== undefined) === afterIncident) return { found: status };
    return { missing: `${status.phase}: ${status.because}` };
  });
}
