import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiserverCertificate } from './apiserver.ts';
import type { KubeControllerOptions } from './controllers.ts';
import { isFree } from './ports.ts';
import { probe } from './probe.ts';
import { server, type Server } from './server.ts';
import { provideCertificates } from './training-operator.ts';

export interface WithWebhooks extends KubeControllerOptions {
  readonly name: 'lws' | 'jobset';
  readonly webhookPort: number;
}

/** Both controllers are configured alike. */
export function webhookController({ name, program, directory, kubeconfig, port, webhookPort }: WithWebhooks): Server {
  const config = join(directory, `${name}.json`);
  const certDir = join(directory, `${name}-certificates`);
  const { certificate, key } = apiserverCertificate(directory);
  mkdirSync(certDir, { recursive: true });
  copyFileSync(certificate, join(certDir, 'tls.crt'));
  copyFileSync(key, join(certDir, 'tls.key'));
  const settings = {
    apiVersion: `config.${name}.x-k8s.io/v1alpha1`,
    kind: 'Configuration',
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
    webhook: { host: '127.0.0.1', port: webhookPort, certDir },
    metrics: { bindAddress: '0' },
    health: { healthProbeBindAddress: `127.0.0.1:${port}` },
  };
  writeFileSync(config, JSON.stringify(settings));
  return server(directory, {
    name,
    program,
    args: [`--config=${config}`, `--kubeconfig=${kubeconfig}`],
    kept: true,
    missing: async () => (await probe(`http://127.0.0.1:${port}/readyz`)) ?? whyNotListening(webhookPort),
  });
}

export function trainer({
  program,
  directory,
  kubeconfig,
  port,
  webhookPort,
}: KubeControllerOptions & { readonly webhookPort: number }): Server {
  const name = 'trainer';
  provideCertificates(directory, name);
  return server(directory, {
    name,
    program,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--health-probe-bind-address=127.0.0.1:${port}`,
      `--webhook-server-port=${webhookPort}`,
    ],
    kept: true,
    missing: () => probe(`http://127.0.0.1:${port}/readyz`),
  });
}

/**
 * With certificates from outside it also reads one for its metrics, from a path below /etc that cannot be configured: it gets a view of /etc of its own
 * that has it, so that nothing is written there.
 */
export function kueue({
  program,
  directory,
  kubeconfig,
  port,
  webhookPort,
}: KubeControllerOptions & { readonly webhookPort: number }): Server {
  const name = 'kueue';
  const config = join(directory, `${name}.json`);
  const certDir = join(directory, 'kueue-etc', 'kueue', 'metrics', 'certs');
  const { certificate, key } = apiserverCertificate(directory);
  mkdirSync(certDir, { recursive: true });
  copyFileSync(certificate, join(certDir, 'tls.crt'));
  copyFileSync(key, join(certDir, 'tls.key'));
  const settings = {
    apiVersion: 'config.kueue.x-k8s.io/v1beta2',
    kind: 'Configuration',
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
    webhook: { host: '127.0.0.1', port: webhookPort, certDir },
    metrics: { bindAddress: '0' },
    health: { healthProbeBindAddress: `127.0.0.1:${port}` },
    integrations: { frameworks: ['batch/job', 'kubeflow.org/pytorchjob', 'pod'] },
  };
  writeFileSync(config, JSON.stringify(settings));
  const withEtc = 'mount -t overlay -o "lowerdir=$0:/etc" overlay /etc && exec "$@"';
  return server(directory, {
    name,
    program: 'unshare',
    args: [
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      withEtc,
      join(directory, 'kueue-etc'),
      program,
      `--config=${config}`,
      `--kubeconfig=${kubeconfig}`,
      '--feature-gates=VisibilityOnDemand=false',
    ],
    kept: true,
    missing: () => probe(`http://127.0.0.1:${port}/readyz`),
  });
}

/** Its webhooks are off unless it is told otherwise. */
export function kuberay({ program, directory, kubeconfig, port }: KubeControllerOptions): Server {
  return server(directory, {
    name: 'kuberay',
    program,
    args: [
      `--kubeconfig=${kubeconfig}`,
      '--metrics-addr=0',
      `--health-probe-bind-address=127.0.0.1:${port}`,
      '--enable-leader-election=false',
    ],
    kept: true,
    missing: () => probe(`http://127.0.0.1:${port}/readyz`),
  });
}

/** A webhook server answers an unknown path with 404, which shows that it listens. */
async function whyNotListening(port: number): Promise<string | undefined> {
  const wrong = await probe(`https://127.0.0.1:${port}/`);
  return wrong?.includes('answered') ? undefined : wrong;
}

/** Its health port cannot be configured. */
const mpiHealthPort = 8080;

export async function mpiOperator({
  program,
  directory,
  kubeconfig,
}: Omit<KubeControllerOptions, 'port'>): Promise<Server> {
  if (!(await isFree(mpiHealthPort))) {
    throw new Error(
      `cannot start the mpi-operator\n  because: something listens on port ${mpiHealthPort}, and its health port cannot be configured\n  try:     stop that (\`ss -ltnp sport = :${mpiHealthPort}\` names it), then start again`,
    );
  }
  return server(directory, {
    name: 'mpi-operator',
    program,
    args: [`--kubeConfig=${kubeconfig}`, '--lock-namespace=kubeflow', '--kube-api-qps=1000', '--kube-api-burst=2000'],
    kept: true,
    missing: () => probe(`http://127.0.0.1:${mpiHealthPort}/healthz`),
  });
}
