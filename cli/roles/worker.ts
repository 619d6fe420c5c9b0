import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import { createActivities, directoryEvidence, directoryRecords, metered } from '../../activities/index.ts';
import { KcoverError } from '../../contract/errors.ts';
import type { WorkerSettings } from '../../contract/settings.schema.ts';
import { clusterUid } from '../../kube/connection.ts';
import { claimCluster } from '../cluster-identity.ts';
import type { ExitName } from '../command.ts';
import type { Environment } from '../environment.ts';
import { openKube } from '../kubernetes.ts';
import { connectError, temporalError, temporalTarget, type TemporalTarget, wordsOf } from '../temporal.ts';
import { workflowBundle } from './bundle.ts';
import { inRole } from './role.ts';
import { requireSearchAttributes } from './search-attributes.ts';
import { installRuntime, quietLogger } from './temporal-runtime.ts';
import { workerMetrics } from './worker-metrics.ts';

export interface WorkerRole {
  readonly settings: WorkerSettings;
  readonly environment: Environment;
  readonly kubeconfig: string | undefined;
  readonly workflowBundle: string | undefined;
}

/** How much a worker does at once. */
const capacity = {
  maxCachedWorkflows: 1000,
  // What is cached belongs to a worker that may have died: after this, another takes the task.
  stickyQueueScheduleToStartTimeout: '5s',
  // What waits for the cluster is handed to another worker then; a kubelet kills after 30 s.
  shutdownGraceTime: '3s',
  shutdownForceTime: '20s',
  // Most activities wait for pods; few do anything.
  maxConcurrentActivityTaskExecutions: 500,
  maxConcurrentWorkflowTaskExecutions: 40,
  maxConcurrentLocalActivityExecutions: 100,
  workflowTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 5, maximum: 20 },
  activityTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 5, maximum: 20 },
} as const satisfies Partial<WorkerOptions>;

export const runWorker = ({ settings, environment, kubeconfig, workflowBundle: bundleFile }: WorkerRole): Promise<ExitName> =>
  inRole('worker', settings, environment, async ({ log, registry, stopping, readiness, addMetrics, waitFor }) => {
    const { taskQueue } = settings.temporal;
    const target = temporalTarget(environment.variables);
    const kube = openKube({ kubeconfig, inCluster: environment.inCluster });
    addMetrics(await installRuntime(log));
    const bundle = await workflowBundle(bundleFile, quietLogger(log));

    const uid = await waitFor('Kubernetes', () => clusterUid(kube));
    const connection = await waitFor('Temporal', () => connect(target));
    const client = new Client({ connection, namespace: target.namespace });
    if (!(await waitFor('Temporal', () => requireSearchAttributes(connection, target))))
      log.warn('Temporal does not let us look whether the search attributes are registered');
    await waitFor('Temporal', () => claimCluster(client, uid, taskQueue));

    const records = directoryRecords(settings.records.directory);
    const { directory, keep: keepMs } = settings.recovery.evidence;
    const evidence = directoryEvidence({ directory, keepMs, now: Date.now });
    const made = createActivities({ kube, settings, temporal: () => client, records, evidence, log, now: Date.now });
    const activities = metered(made, workerMetrics(registry), log);
    const worker = await waitFor('Temporal', () =>
      create({ connection, namespace: target.namespace, taskQueue, workflowBundle: bundle, activities: { ...activities }, ...capacity }),
    );
    stopping.addEventListener('abort', () => worker.shutdown(), { once: true });
    if (!stopping.aborted) {
      readiness(undefined);
      log.info({ taskQueue, mode: settings.mode, cluster: uid, temporal: target.address, namespace: target.namespace }, 'ready');
      await run(worker);
    }
    await Promise.allSettled([connection.close(), kube.close()]);
    return stopping.aborted ? 'ok' : 'failed';
  });

async function connect({ address, options }: TemporalTarget): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(options);
  } catch (error) {
    throw connectError(error, address);
  }
}

async function create(options: WorkerOptions): Promise<Worker> {
  try {
    return await Worker.create(options);
  } catch (error) {
    // It asks the server for the namespace; anything else is a defect of ours.
    if (error instanceof Error && error.name === 'TransportError') throw temporalError(error, 'start a worker');
    throw error;
  }
}

async function run(worker: Worker): Promise<void> {
  try {
    await worker.run();
  } catch (error) {
    throw new KcoverError('temporal.unreachable', `the worker ended: ${wordsOf(error)}`, { cause: error });
  }
}
