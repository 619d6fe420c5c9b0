/** Where it is measured: a world with kcover in it, a witness outside, and bare hands. */

import { Client, Connection } from '@temporalio/client';
import { jobWorkflowId } from '../contract/ids.ts';
import { statusQuery } from '../contract/messages.ts';
import type { JobStatus } from '../contract/training-job.ts';
import { connectKube } from '../kube/connection.ts';
import { Agents } from '../testbed/agents-together.ts';
import { awaitRunning, createJob, podsOf, type RunningJob } from '../testbed/jobs.ts';
import { pytorchJob } from '../testbed/job-manifests.ts';
import { type Kcover, startKcover } from '../testbed/roles.ts';
import { until } from '../testbed/until.ts';
import { startWorld, stopOnSignals, type World } from '../testbed/world.ts';
import { type Chronicle, openChronicle } from '../test/support/chronicle.ts';
import { BareHands } from './bare.ts';
import { namespace } from './variants.ts';
import { Witness } from './witness.ts';

export interface Stage {
  readonly world: World;
  readonly kcover: Kcover;
  readonly client: Client;
  readonly witness: Witness;
  readonly hands: BareHands;
  /** What happened to every pod and node, in the order of etcd. */
  readonly chronicle: Chronicle;
  /** Where the agents are no processes of their own: starts those of these nodes. */
  watch(nodes: World['nodes']): Promise<void>;
  end(): Promise<void>;
}

/** A job that nothing ever happens to, and the node it runs on: that node is never broken. */
export interface Healthy {
  readonly job: RunningJob;
  readonly node: string;
  readonly since: number;
}

export interface StageOptions {
  readonly nodes: number;
  /** `processes`: one for each node, as in an installation. `together`: all in this process, and only those that are asked for. */
  readonly agents: 'processes' | 'together';
  /** How many nodes may be out: as by default, or all of them. */
  readonly limit: 'default' | 'all';
  readonly tell: (line: string) => void;
}

export async function setStage({ nodes, agents, limit, tell }: StageOptions): Promise<Stage> {
  const world = await startWorld({ nodes, fastControllers: true, onProgress: tell });
  stopOnSignals(world);
  try {
    tell(`${nodes} nodes; starting kcover`);
    const workerSettings = {
      ...(limit === 'all' && { quarantine: { limit: { atLeast: nodes } } }),
      // The window is shown apart: a constant that somebody chose is not a measurement.
      recovery: { correlation: '0ms' },
    };
    const kcover = await startKcover(world, { mode: 'act', workerSettings, ...(agents === 'together' && { agentsOn: [] }) });
    const together = agents === 'together' ? new Agents(world, kcover) : undefined;
    await world.api.core.createNamespace({ body: { metadata: { name: namespace } } });
    const kube = connectKube({ kubeconfig: world.kubernetes.kubeconfig });
    const over = new AbortController();
    const witness = new Witness(kube, namespace, over.signal);
    await witness.ready;
    const chronicle = await openChronicle(world.kubernetes.kubeconfig);
    const connection = await Connection.connect({ address: world.temporal.address });
    const client = new Client({ connection, namespace: world.temporal.namespace });
    const hands = new BareHands(world.kubernetes.kubeconfig);
    const end = async (): Promise<void> => {
      over.abort();
      await together?.stop();
      await Promise.allSettled([kube.close(), chronicle.close(), hands.close(), connection.close()]);
      await kcover.stop();
      await world.stop();
    };
    const watch = async (some: World['nodes']): Promise<void> => together?.watch(some);
    return { world, kcover, client, witness, hands, chronicle, watch, end };
  } catch (error) {
    await world.stop();
    throw error;
  }
}

export async function startHealthyJob({ world, client }: Stage): Promise<Healthy> {
  const job = await createJob(world.api, pytorchJob({ name: 'healthy', namespace, workers: 0, gpus: 0, labels: { 'kcover.io/cascading-recovery': 'true' } }));
  await awaitRunning(world.api, job);
  await isWatched(client, job);
  const [pod] = await podsOf(world.api, job);
  return { job, node: pod?.spec?.nodeName ?? '', since: Date.now() };
}

/** Waits until the job's workflow has nothing to do; with `afterIncident`, until it has heard how one ended. */
export function isWatched(client: Client, job: RunningJob, afterIncident = false): Promise<JobStatus> {
  return until(`job/${job.name} watching`, 180_000, async () => {
    const status = await client.workflow.getHandle(jobWorkflowId(job)).query<JobStatus>(statusQuery);
    if (status.phase === 'watching' && (status.last !== undefined) === afterIncident) return { found: status };
    return { missing: `${status.phase}: ${status.because}` };
  });
}
