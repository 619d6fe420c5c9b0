import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Api } from '../api.ts';
import type { KubeControllerOptions } from './controllers.ts';
import { probe } from './probe.ts';
import { server, type Server } from './server.ts';

/** Nodes with this label have a running (simulated) kubelet. */
export const kubeletLabel = { key: 'testbed.kcover.io/kubelet', value: 'running' } as const;

/** The log that `kubectl logs` shows for every pod, in CRI form (`<RFC 3339> stdout F <text>`). */
export function podLogOf(directory: string): string {
  return join(directory, 'logs', 'pods.log');
}

export interface KwokOptions extends KubeControllerOptions {
  readonly api: Api;
  /** Its serving certificate for logs. */
  readonly serving: { readonly certificate: string; readonly key: string };
}

/** The kubelets of all simulated nodes. */
export function kwok({
  program,
  directory,
  kubeconfig,
  port,
  api,
  serving: { certificate, key },
}: KwokOptions): Server {
  const stages = join(import.meta.dirname, '..', 'stages');
  const config = join(directory, 'kwok.yaml');
  writeFileSync(podLogOf(directory), `${new Date().toISOString()} stdout F simulated training\n`);
  writeFileSync(
    config,
    [configuration, logs(podLogOf(directory))].map((document) => JSON.stringify(document)).join('\n---\n'),
  );
  return server(directory, {
    name: 'kwok',
    program,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--manage-nodes-with-label-selector=${kubeletLabel.key}=${kubeletLabel.value}`,
      '--node-lease-duration-seconds=40',
      '--cidr=10.0.0.0/16',
      '--node-ip=127.0.0.1',
      `--node-port=${port}`,
      `--server-address=127.0.0.1:${port}`,
      `--tls-cert-file=${certificate}`,
      `--tls-private-key-file=${key}`,
      ...[
        config,
        ...['node.yaml', 'pod-ready.yaml', 'pod-helpers.yaml', 'pod-preflight.yaml', 'pod-delete.yaml'].map((stage) =>
          join(stages, stage),
        ),
      ].map((file) => `--config=${file}`),
    ],
    // Every kwok process has its own identity and would wait 40 s for the leases of the one before.
    before: () => api.coordination.deleteCollectionNamespacedLease({ namespace: 'kube-node-lease' }),
    kept: true,
    missing: () => probe(`https://127.0.0.1:${port}/healthz`),
  });
}

const configuration = {
  apiVersion: 'config.kwok.x-k8s.io/v1alpha1',
  kind: 'KwokConfiguration',
  options: {
    enableDebuggingHandlers: true,
    podPlayStageParallelism: 16,
    nodePlayStageParallelism: 8,
    nodeLeaseParallelism: 8,
  },
};

function logs(logsFile: string): object {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'ClusterLogs',
    metadata: { name: 'all' },
    spec: { logs: [{ logsFile, follow: false }] },
  };
}
