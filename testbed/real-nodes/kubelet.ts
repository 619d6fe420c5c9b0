import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { probe } from '../servers/probe.ts';
import type { Server } from '../servers/server.ts';
import type { CertificateFiles } from './authority.ts';
import { containerdSocket } from './containerd.ts';
import type { NodeMachine } from './machine.ts';

export interface KubeletOptions {
  readonly address: string;
  readonly kubeconfig: string;
  /** Authority of its clients' certificates. */
  readonly authority: string;
  readonly serving: CertificateFiles;
  /** Path in every cgroup hierarchy. */
  readonly cgroup: string;
  readonly dns: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Added to its configuration. */
  readonly configuration: Readonly<Record<string, unknown>>;
}

const healthPort = 10_248;

export function kubelet(machine: NodeMachine, options: KubeletOptions): Server {
  const config = join(machine.disk, 'kubelet.json');
  writeFileSync(config, JSON.stringify(configuration(options), null, 2));
  const labels = Object.entries(options.labels).map(([name, value]) => `${name}=${value}`);
  const flags = {
    config,
    kubeconfig: options.kubeconfig,
    'hostname-override': machine.name,
    'node-ip': options.address,
    'node-labels': labels.join(','),
    'cert-dir': join(machine.disk, 'pki'),
  };
  return machine.daemon({
    name: 'kubelet',
    command: ['kubelet', ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)],
    missing: () => probe(`http://${options.address}:${healthPort}/healthz`),
  });
}

const configuration = ({ address, authority, serving, cgroup, dns, configuration: added }: KubeletOptions) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address,
  healthzBindAddress: address,
  healthzPort: healthPort,
  readOnlyPort: 0,
  tlsCertFile: serving.certificate,
  tlsPrivateKeyFile: serving.key,
  authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: authority } },
  authorization: { mode: 'Webhook' },
  containerRuntimeEndpoint: `unix://${containerdSocket}`,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: cgroup,
  enforceNodeAllocatable: ['pods'],
  // Build machines have cgroups of version 1, and perhaps swap.
  failCgroupV1: false,
  failSwapOn: false,
  clusterDNS: [dns],
  clusterDomain: 'cluster.local',
  resolvConf: '',
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  // All nodes share one disk, and images cannot be pulled again.
  imageGCHighThresholdPercent: 100,
  ...added,
});
