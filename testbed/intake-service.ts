import { connect as dial, createServer, type Server, type Socket } from 'node:net';
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node';
import { leaderLabel } from '../contract/ids.ts';
import { connectKube } from '../kube/client/connection.ts';
import { leaseName, ownNamespace } from '../kube/permissions.ts';
import { watchResource } from '../kube/client/watch.ts';
import type { Api } from './api.ts';

/** Labels that the chart's Service selects, which exists where the chart is installed. */
const labels = {
  'app.kubernetes.io/name': 'kcover',
  'app.kubernetes.io/instance': 'kcover',
  'app.kubernetes.io/component': 'controller',
};
const service = 'kcover-intake';

/** The pods in which the controllers would run: their processes run elsewhere, but names, labels and nodes are real. */
export async function createControllerPods(api: Api, names: readonly string[]): Promise<void> {
  await Promise.all(
    names.map((name) => unlessThere(api.core.createNamespacedPod({ namespace: ownNamespace, body: podOf(name) }))),
  );
}

const podOf = (name: string): V1Pod => ({
  metadata: { name, labels },
  spec: {
    serviceAccountName: 'kcover-controller',
    // Never evicted, whatever happens to its node.
    tolerations: [{ operator: 'Exists' }],
    // The image does not exist, and only simulated kubelets run a pod without its image.
    nodeSelector: { type: 'kwok' },
    containers: [{ name: 'controller', image: 'kcover:testbed', ports: [{ name: 'intake', containerPort: 8443 }] }],
  },
});

export interface IntakeService {
  /** Names of the pods behind the Service, from its EndpointSlices. */
  endpoints(): readonly string[];
  close(): Promise<void>;
}

export interface IntakeServiceOptions {
  readonly api: Api;
  readonly kubeconfig: string;
  /** The port on the loopback interface. */
  readonly port: number;
  /** The port of each pod's process. */
  readonly backends: ReadonlyMap<string, number>;
}

/** The Service of the intake with a minimal kube-proxy: each new connection goes to a pod that its EndpointSlices name. */
export async function openIntakeService({
  api,
  kubeconfig,
  port,
  backends,
}: IntakeServiceOptions): Promise<IntakeService> {
  const selector = { ...labels, [leaderLabel.key]: leaseName };
  const body = { metadata: { name: service, labels }, spec: { selector, ports: [{ port: 8443 }] } };
  await unlessThere(api.core.createNamespacedService({ namespace: ownNamespace, body }));

  const kube = connectKube({ kubeconfig });
  const over = new AbortController();
  const slices = watchResource<V1EndpointSlice>({
    kube,
    path: `/apis/discovery.k8s.io/v1/namespaces/${ownNamespace}/endpointslices`,
    labelSelector: `kubernetes.io/service-name=${service}`,
    onEvent: () => undefined,
    signal: over.signal,
  });
  const endpoints = (): string[] =>
    slices
      .objects()
      .flatMap((slice) =>
        (slice.endpoints ?? []).flatMap(({ conditions, targetRef }) =>
          conditions?.ready ? (targetRef?.name ?? []) : [],
        ),
      );

  const open = new Set<Socket>();
  const proxy = createServer((client) => {
    const to = endpoints().flatMap((pod) => backends.get(pod) ?? [])[0];
    // Refused, as by a Service without endpoints.
    if (to === undefined) return void client.resetAndDestroy();
    join(client, dial(to, '127.0.0.1'), open);
  });
  await listen(proxy, port);
  proxy.unref();
  return {
    endpoints,
    async close() {
      over.abort();
      const closed = new Promise((resolve) => proxy.close(resolve));
      for (const socket of open) socket.destroy();
      await Promise.all([closed, kube.close()]);
    },
  };
}

/** Connects two sockets: when one side ends, the other does. */
function join(one: Socket, other: Socket, open: Set<Socket>): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    open.add(from);
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      open.delete(from);
      to.destroy();
    });
  }
}

const listen = (proxy: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    proxy.once('error', reject);
    proxy.listen(port, '127.0.0.1', resolve);
  });

async function unlessThere(creating: Promise<unknown>): Promise<void> {
  await creating.catch((error: { readonly code?: number }) => {
    if (error.code !== 409) throw error;
  });
}
