/** Pods with real containers. */

import { Writable } from 'node:stream';
import { Exec, KubeConfig, type V1Container, type V1Pod, type V1PodSpec, type V1Status } from '@kubernetes/client-node';
import { until } from '../../testbed/until.ts';
import type { TestCluster } from '../../testbed/test-cluster.ts';

const namespace = 'default';

export interface RealPodOptions {
  readonly name: string;
  readonly node: string;
  readonly image: string;
  /** Run by a shell. */
  readonly script: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly container?: Partial<V1Container>;
  readonly spec?: Partial<V1PodSpec>;
}

/** Creates the pod on a node; resolves when its container runs. */
export async function runPod(
  { api }: TestCluster,
  { name, node, image, script, labels = {}, container, spec }: RealPodOptions,
): Promise<V1Pod> {
  const containers = [
    { name: 'main', image, imagePullPolicy: 'Never', command: ['/bin/sh', '-c', script], ...container },
  ];
  const body = {
    metadata: { name, labels },
    spec: { nodeName: node, restartPolicy: 'Never', terminationGracePeriodSeconds: 20, ...spec, containers },
  };
  // A namespace has no account for its pods until the controller manager has created it.
  await until(`pod ${name} created`, 30_000, async () => ({
    found: await api.core.createNamespacedPod({ namespace, body }),
  }));
  return podAs({ api }, name, 'Running');
}

/** Waits until the pod is in this phase. */
export const podAs = ({ api }: Pick<TestCluster, 'api'>, name: string, phase: string): Promise<V1Pod> =>
  until(`pod ${name} ${phase}`, 90_000, async () => {
    const pod = await api.core.readNamespacedPod({ name, namespace });
    const { reason, message } = pod.status?.containerStatuses?.[0]?.state?.waiting ?? {};
    return pod.status?.phase === phase
      ? { found: pod }
      : { missing: `it is ${pod.status?.phase}, ${reason ?? 'no reason'}: ${message ?? ''}` };
  });

/** The output of the container, as soon as it contains the text. */
export const logWith = ({ api }: TestCluster, name: string, text: string): Promise<string> =>
  until(`"${text}" in the log of ${name}`, 60_000, async () => {
    const log = await api.core.readNamespacedPodLog({ name, namespace });
    return log.includes(text) ? { found: log } : { missing: `the log is: ${log}` };
  });

/** Runs a command in the container and returns its output. */
export const execIn = (
  cluster: Pick<TestCluster, 'kubernetes'>,
  name: string,
  ...command: readonly string[]
): Promise<string> => execInContainer(cluster, { namespace, name, container: 'main' }, command);

interface ContainerPlace {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
}

/** The same in any pod. */
export function execInContainer(
  { kubernetes }: Pick<TestCluster, 'kubernetes'>,
  place: ContainerPlace,
  command: readonly string[],
): Promise<string> {
  const config = new KubeConfig();
  config.loadFromFile(kubernetes.kubeconfig);
  let printed = '';
  const collect = () =>
    new Writable({
      write: (chunk: Buffer, _, done) => {
        printed += chunk.toString();
        done();
      },
    });
  return new Promise((resolve, reject) => {
    const ended = ({ status, message }: V1Status): void =>
      status === 'Success' ? resolve(printed) : reject(new Error(`${message}: ${printed}`));
    new Exec(config)
      .exec(place.namespace, place.name, place.container, [...command], collect(), collect(), null, false, ended)
      .catch(reject);
  });
}

export async function deletePod({ api }: TestCluster, name: string, gracePeriodSeconds?: number): Promise<void> {
  await api.core.deleteNamespacedPod({
    name,
    namespace,
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
  });
}
