import { join } from 'node:path';
import { ownNamespace } from '../kube/permissions.ts';
import type { Api } from './api.ts';
import type { OnProgress } from './parts/cache.ts';
import { type Finished, must, run } from './parts/command.ts';
import { readEnvironment } from './parts/environment.ts';
import { helmProgram } from './parts/helm.ts';
import type { TestCluster } from './test-cluster.ts';

export const chartDirectory = join(import.meta.dirname, '..', 'charts', 'kcover');

/** The release whose names are those of kube/permissions.ts. */
export const release = 'kcover';

const managedBy = { key: 'app.kubernetes.io/managed-by', helm: 'Helm' } as const;

/** The real helm against the test cluster's API server. */
export interface Helm {
  run(...args: readonly string[]): Promise<Finished>;
}

/** Builds helm if it is not there yet. */
export const obtainHelm = (onProgress: OnProgress): Promise<string> => helmProgram(readEnvironment(), onProgress);

export function helmFor(
  program: string,
  { directory, kubernetes }: Pick<TestCluster, 'directory'> & { readonly kubernetes: { readonly kubeconfig: string } },
): Helm {
  return { run: (...args) => run(command(program, directory, kubernetes.kubeconfig, args)) };
}

/**
 * Installs the chart with helm, so that accounts, rights and the agents' DaemonSet are the chart's own. Controllers and workers
 * run as processes beside the cluster, so they have no pods.
 */
export async function installChart(
  program: string,
  cluster: Pick<TestCluster, 'directory' | 'kubernetes'>,
): Promise<void> {
  const args = [
    'install',
    release,
    chartDirectory,
    '--namespace',
    ownNamespace,
    '--create-namespace',
    '--set',
    'controller.replicas=0,worker.replicas=0',
  ];
  await must(
    command(program, cluster.directory, cluster.kubernetes.kubeconfig, args),
    'cannot install the chart',
    'helm lint charts/kcover',
  );
}

export async function isChartInstalled(api: Api): Promise<boolean> {
  const { items } = await api.core.listNamespacedServiceAccount({
    namespace: ownNamespace,
    labelSelector: `${managedBy.key}=${managedBy.helm}`,
  });
  return items.length > 0;
}

/** Isolates helm from the caller's own helm settings and cluster. */
function command(file: string, directory: string, kubeconfig: string, args: readonly string[]) {
  const home = join(directory, 'helm');
  const homes = {
    HELM_CACHE_HOME: join(home, 'cache'),
    HELM_CONFIG_HOME: join(home, 'config'),
    HELM_DATA_HOME: join(home, 'data'),
  };
  return {
    file,
    args,
    env: { PATH: readEnvironment().commands['PATH'], KUBECONFIG: kubeconfig, ...homes },
    cwd: directory,
  };
}
