import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { probe } from '../servers/probe.ts';
import type { Server } from '../servers/server.ts';
import type { NodeMachine } from './machine.ts';

export interface KubeProxyOptions {
  readonly address: string;
  readonly kubeconfig: string;
  /** Subnet of all pods. */
  readonly pods: string;
}

const healthPort = 10_256;

/** Implements Services, including that of the API server, by rules in the machine's own network namespace. */
export function kubeProxy(machine: NodeMachine, { address, kubeconfig, pods }: KubeProxyOptions): Server {
  const config = join(machine.disk, 'kube-proxy.json');
  const configuration = {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'iptables',
    clientConnection: { kubeconfig },
    hostnameOverride: machine.name,
    clusterCIDR: pods,
    healthzBindAddress: `${address}:${healthPort}`,
    // These are settings of the whole host, so they are left alone.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
  writeFileSync(config, JSON.stringify(configuration, null, 2));
  return machine.daemon({
    name: 'kube-proxy',
    command: ['kube-proxy', `--config=${config}`],
    missing: () => probe(`http://${address}:${healthPort}/healthz`),
  });
}
