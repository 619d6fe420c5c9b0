/** The chart as helm installs it on real nodes: its pods, and its objects in the cluster. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubernetesObject, V1Pod } from '@kubernetes/client-node';
import { askKube, listObjects } from '../../kube/client/requests.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { agentNamespace, ownNamespace } from '../../kube/permissions.ts';
import { chartDirectory, helmFor, release } from '../../testbed/chart.ts';
import type { TestCluster } from '../../testbed/test-cluster.ts';
import { execInContainer } from './real-pod.ts';

export type ChartRole = 'agent' | 'controller' | 'worker';

/** Long enough for pods that are replaced one after the other on a busy machine. */
const patience = ['--wait', '--timeout', '4m'];

export class InstalledChart {
  readonly #cluster: TestCluster;
  readonly #program: string;
  readonly #values: string;

  constructor(cluster: TestCluster, program: string, values: object) {
    this.#cluster = cluster;
    this.#program = program;
    this.#values = join(cluster.directory, 'chart-values.json');
    writeFileSync(this.#values, JSON.stringify(values));
  }

  install(): Promise<void> {
    return this.#helm('install', release, chartDirectory, '--values', this.#values);
  }

  upgrade(...set: readonly string[]): Promise<void> {
    return this.#helm('upgrade', release, chartDirectory, '--values', this.#values, '--set', set.join(','));
  }

  /** Runs the pods of `helm test`; throws with what they said when one fails. */
  test(): Promise<void> {
    return this.#helm('test', release, '--logs');
  }

  rollback(revision: number): Promise<void> {
    return this.#helm('rollback', release, String(revision));
  }

  uninstall(): Promise<void> {
    return this.#helm('uninstall', release);
  }

  /** Pods that are not terminating. */
  async pods(role: ChartRole): Promise<readonly V1Pod[]> {
    const labelSelector = `app.kubernetes.io/instance=${release},app.kubernetes.io/component=${role}`;
    const { items } = await this.#cluster.api.core.listNamespacedPod({ namespace: namespaceOf(role), labelSelector });
    return items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
  }

  /** Runs the program of the image in a pod of the role. */
  async kcoverIn(role: ChartRole, ...args: readonly string[]): Promise<string> {
    const [pod] = await this.pods(role);
    return execInContainer(
      this.#cluster,
      { namespace: namespaceOf(role), name: pod?.metadata?.name ?? '', container: role },
      ['kcover', ...args],
    );
  }

  async #helm(...args: readonly string[]): Promise<void> {
    const { code, tail } = await helmFor(this.#program, this.#cluster).run(
      ...args,
      ...(args[0] === 'test' ? ['--timeout', '4m'] : patience),
      '--namespace',
      ownNamespace,
    );
    if (code !== 0)
      throw new Error(
        `helm ${args[0]} ended with code ${code}\n  because: ${tail}\n  and:     ${await this.#waiting()}`,
      );
  }

  /** Why pods are not ready. */
  async #waiting(): Promise<string> {
    const pods = (
      await Promise.all((['agent', 'controller', 'worker'] as const).map((role) => this.pods(role)))
    ).flat();
    return pods
      .filter(({ status }) => !status?.containerStatuses?.every(({ ready }) => ready))
      .map(
        ({ metadata, status }) =>
          `${metadata?.name} ${status?.phase} ${JSON.stringify(status?.containerStatuses?.[0] ?? status?.conditions)}`,
      )
      .join('\n           ');
  }
}

const namespaceOf = (role: ChartRole): string => (role === 'agent' ? agentNamespace : ownNamespace);

interface ResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

/** `plural/name` of every object that belongs to the release by its label, and of every object in its namespaces; Events are not counted. */
export async function objectsOfRelease(kube: Kube): Promise<readonly string[]> {
  const { groups } = await askKube<{ groups: readonly { preferredVersion: { groupVersion: string } }[] }>(
    kube,
    { method: 'GET', path: '/apis' },
    'list groups',
  );
  const places = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const found = await Promise.all(places.map((place) => objectsAt(kube, place)));
  return [...new Set(found.flat())].toSorted();
}

async function objectsAt(kube: Kube, place: string): Promise<readonly string[]> {
  const { resources } = await askKube<ResourceList>(kube, { method: 'GET', path: place }, `list resources of ${place}`);
  const listed = resources.filter(({ name, verbs }) => verbs.includes('list') && name !== 'events');
  const found = listed.map(async ({ name, namespaced }) => {
    const all = await listObjects<KubernetesObject>(kube, `${place}/${name}`, {}, `list ${name}`);
    return all
      .filter(
        ({ metadata }) =>
          metadata?.labels?.['app.kubernetes.io/instance'] === release || (namespaced && isOurs(metadata?.namespace)),
      )
      .map(({ metadata }) => `${name}/${metadata?.name}`);
  });
  return (await Promise.all(found)).flat();
}

const isOurs = (namespace: string | undefined): boolean => namespace === ownNamespace || namespace === agentNamespace;
