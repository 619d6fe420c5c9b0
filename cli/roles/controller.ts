import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import { startController } from '../../controller/index.ts';
import { clusterUid } from '../../kube/client/connection.ts';
import { requireSameCluster } from '../clients/cluster-identity.ts';
import type { ExitName } from '../program/command.ts';
import type { CliEnvironment } from '../program/environment.ts';
import { openKube } from '../clients/kubernetes.ts';
import { connectTemporal, temporalTarget } from '../clients/temporal.ts';
import { inRole } from './role.ts';
import { requireSearchAttributes } from './search-attributes.ts';

export interface ControllerRole {
  readonly settings: ControllerSettings;
  readonly environment: CliEnvironment;
  readonly kubeconfig: string | undefined;
}

export const runController = ({ settings, environment, kubeconfig }: ControllerRole): Promise<ExitName> =>
  inRole('controller', settings, environment, async ({ log, registry, stopping, readiness, waitFor }) => {
    const target = temporalTarget(environment.variables);
    const kube = openKube({ kubeconfig, inCluster: environment.inCluster });
    const uid = await waitFor('Kubernetes', () => clusterUid(kube));
    const connection = await waitFor('Temporal', () => connectTemporal(target));
    const temporal = connection.client;
    await waitFor('Temporal', () => requireSearchAttributes(temporal.connection, target));
    await waitFor('Temporal', () => requireSameCluster(temporal, uid));

    const { pod, hostname } = environment;
    if (settings.leaderElection.enabled && !pod)
      log.warn('POD_NAME and POD_NAMESPACE are not set: no pod gets the leader label');
    const identity = pod?.name ?? hostname;
    const controller = await startController({
      settings,
      kube,
      temporal,
      identity,
      ...(pod && { pod }),
      log,
      metrics: registry,
    });
    readiness(undefined);
    log.info({ intake: controller.address, cluster: uid, temporal: target.address }, 'ready');
    stopping.addEventListener('abort', () => void controller.stop(), { once: true });
    if (stopping.aborted) await controller.stop();
    const how = await controller.stopped;
    await Promise.allSettled([connection.close(), kube.close()]);
    return how === 'stopped' ? 'ok' : 'failed';
  });
