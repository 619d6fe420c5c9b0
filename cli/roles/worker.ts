import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import {
  createActivities,
  directoryEvidence,
  directoryRecords,
  metered,
  type RecordStore,
} from '../../activities/index.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import { clusterUid } from '../../kube/client/connection.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { claimCluster } from '../clients/cluster-identity.ts';
import type { ExitName } from '../program/command.ts';
import type { CliEnvironment } from '../program/environment.ts';
import { openKube } from '../clients/kubernetes.ts';
import { connectError, temporalTarget, type TemporalTarget } from '../clients/temporal.ts';
import { workflowBundle } from './bundle.ts';
import { inRole } from './role.ts';
import { requireSearchAttributes } from './search-attributes.ts';
import { createWorker, forEffects, forWaits, runWorkers } from './task-workers.ts';
import { installRuntime, quietLogger } from './temporal-runtime.ts';
import { workerMetrics } from './worker-metrics.ts';

export interface WorkerRole {
  readonly settings: WorkerSettings;
  readonly environment: CliEnvironment;
  readonly kubeconfig: string | undefined;
  readonly workflowBundle: string | undefined;
}

export const runWorker = ({
  settings,
  environment,
  kubeconfig,
  workflowBundle: bundleFile,
}: WorkerRole): Promise<ExitName> =>
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
      log.warn('Temporal does not let kcover check whether the search attributes are registered');
    await waitFor('Temporal', () => claimCluster(client, uid, taskQueue));

    const records = recordsOf(settings);
    const namespace = environment.pod?.namespace ?? ownNamespace;
    const { directory, keep: keepMs, most, share } = settings.recovery.evidence;
    const evidence = directoryEvidence({ directory, keepMs, most, share, now: Date.now });
    const made = createActivities({
      kube,
      namespace,
      settings,
      temporal: () => client,
      records,
      evidence,
      log,
      now: Date.now,
    });
    const routes = settings.notifications.routes.map(({ name }) => name);
    const activities = metered(made, workerMetrics(registry, routes), log);
    const common = { connection, namespace: target.namespace, taskQueue, activities };
    const workers = [
      await waitFor('Temporal', () => createWorker(forEffects(common, bundle))),
      await waitFor('Temporal', () => createWorker(forWaits(common, settings.waits))),
    ];
    if (!stopping.aborted) {
      readiness(undefined);
      log.info(
        { taskQueue, mode: settings.mode, cluster: uid, temporal: target.address, namespace: target.namespace },
        'ready',
      );
      await runWorkers(workers, stopping);
    }
    await Promise.allSettled([connection.close(), kube.close()]);
    return stopping.aborted ? 'ok' : 'failed';
  });

function recordsOf({ records: { directory, keep: keepMs, most, share }, remediation }: WorkerSettings): RecordStore {
  return directoryRecords(directory, { keepMs, most, share, memoryMs: remediation.memory.window });
}

async function connect({ address, options }: TemporalTarget): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(options);
  } catch (error) {
    throw connectError(error, address);
  }
}
