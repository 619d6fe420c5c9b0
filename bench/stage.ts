/** Setting of a measurement: a test cluster with kcover in it, an outside observer, and direct requests. */

import { Client, Connection } from '@temporalio/client';
import { jobWorkflowId } from '../contract/ids.ts';
import { statusQuery } from '../contract/wire/messages.ts';
import type { JobStatus } from '../contract/job/training-job.ts';
import { connectKube } from '../kube/client/connection.ts';
import { InProcessAgents } from '../testbed/in-process-agents.ts';
import { awaitRunning, createJob, podsOf, type RunningJob } from '../testbed/jobs.ts';
import { pytorchJob } from '../testbed/job-manifests.ts';
import { type Kcover, startKcover } from '../testbed/roles.ts';
import { until } from '../testbed/until.ts';
import { startTestCluster, stopOnSignals, type TestCluster } from '../testbed/test-cluster.ts';
import { type ClusterRecorder, startClusterRecorder } from '../test/support/cluster-recorder.ts';
import { DirectRequests } from './direct-requests.ts';
import { namespace } from './variants.ts';
import { ownUsers } from './writes.ts';
import { ClusterObserver } from './cluster-observer.ts';

export interface BenchStage {
  readonly cluster: TestCluster;
  readonly kcover: Kcover;
  readonly client: Client;
  readonly observer: ClusterObserver;
  readonly direct: DirectRequests;
  /** The changes of every pod and node, in the order of etcd. */
  readonly recorder: ClusterRecorder;
  /** Starts the agents of these nodes, when agents are not processes of their own. */
  watch(nodes: TestCluster['nodes']): Promise<void>;
  end(): Promise<void>;
}

/** A job that is never disturbed, and its node, which is never broken. */
export interface Healthy {
  readonly job: RunningJob;
  readonly node: string;
  readonly since: number;
}

export interface StageOptions {
  readonly nodes: number;
  /** `processes`: one for each node, as in an installation. `together`: all in this process, and only the requested ones. */
  readonly agents: 'processes' | 'in-process';
  /** How many nodes may be quarantined: the default limit, or all of them. */
  readonly limit: 'default' | 'all';
  /** The audit log has kcover's reads and Events too, which costs time. */
  readonly countRequests?: boolean;
  readonly print: (line: string) => void;
}

export async function setStage({
  nodes,
  agents,
  limit,
  countRequests = false,
  print,
}: StageOptions): Promise<BenchStage> {
  const auditAllOf = countRequests ? ownUsers : [];
  const cluster = await startTestCluster({ nodes, fastControllers: true, auditAllOf, onProgress: print });
  stopOnSignals(cluster);
  try {
    print(`${nodes} nodes; starting kcover`);
    const workerSettings = {
      ...(limit === 'all' && { quarantine: { limit: { atLeast: nodes } } }),
      // The correlation window is reported separately: a configured constant is not a measurement.
      recovery: { correlation: '0ms' },
    };
    const kcover = await startKcover(cluster, {
      mode: 'act',
      workerSettings,
      ...(agents === 'in-process' && { agentsOn: [] }),
    });
    const inProcess = agents === 'in-process' ? new InProcessAgents(cluster, kcover) : undefined;
    await cluster.api.core.createNamespace({ body: { metadata: { name: namespace } } });
    const kube = connectKube({ kubeconfig: cluster.kubernetes.kubeconfig });
    const over = new AbortController();
    const observer = new ClusterObserver(kube, namespace, over.signal);
    await observer.ready;
    const recorder = await startClusterRecorder(cluster.kubernetes.kubeconfig);
    const connection = await Connection.connect({ address: cluster.temporal.address });
    const client = new Client({ connection, namespace: cluster.temporal.namespace });
    const direct = new DirectRequests(cluster.kubernetes.kubeconfig);
    const end = async (): Promise<void> => {
      over.abort();
      await inProcess?.stop();
      await Promise.allSettled([kube.close(), recorder.close(), direct.close(), connection.close()]);
      await kcover.stop();
      await cluster.stop();
    };
    const watch = async (some: TestCluster['nodes']): Promise<void> => inProcess?.watch(some);
    return { cluster, kcover, client, observer, direct, recorder, watch, end };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

export async function startHealthyJob({ cluster, client }: BenchStage): Promise<Healthy> {
  const job = await createJob(
    cluster.api,
    pytorchJob({ name: 'healthy', namespace, workers: 0, gpus: 0, labels: { 'kcover.io/cascading-recovery': 'true' } }),
  );
  await awaitRunning(cluster.api, job);
  await isWatched(client, job);
  const [pod] = await podsOf(cluster.api, job);
  return { job, node: pod?.spec?.nodeName ?? '', since: Date.now() };
}

/** Waits until the job's workflow is idle; with `afterIncident`, until an outcome was reported to it. */
export function isWatched(client: Client, job: RunningJob, afterIncident = false): Promise<JobStatus> {
  return until(`job/${job.name} watching`, 180_000, async () => {
    const status = await client.workflow.getHandle(jobWorkflowId(job)).query<JobStatus>(statusQuery);
    if (status.phase === 'watching' && (status.last !== undefined) === afterIncident) return { found: status };
    return { missing: `${status.phase}: ${status.because}` };
  });
}
