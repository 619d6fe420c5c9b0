import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { probe } from './probe.ts';
import { server, type Server } from './server.ts';

export interface KubeControllerOptions {
  readonly program: string;
  readonly directory: string;
  readonly kubeconfig: string;
  readonly port: number;
}

interface Rates {
  /** Without the default request limits: 20 a second and bursts of 30 (controller manager), 50 and 100 (scheduler). */
  readonly fast: boolean;
}

export interface ControllerManagerOptions extends KubeControllerOptions, Rates {
  readonly serviceAccountKey: string;
  /** PEM file: the authority by which real pods trust the API server. Simulated ones do not read it. */
  readonly authority: string | undefined;
  readonly patientWithNodes: boolean;
}

export function controllerManager({
  program,
  directory,
  kubeconfig,
  port,
  serviceAccountKey,
  authority,
  patientWithNodes,
  fast,
}: ControllerManagerOptions): Server {
  return server(directory, {
    name: 'controller-manager',
    program,
    args: [
      `--kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      ...(patientWithNodes ? ['--node-monitor-grace-period=30m'] : []),
      '--use-service-account-credentials=false',
      `--service-account-private-key-file=${serviceAccountKey}`,
      ...(authority === undefined ? [] : [`--root-ca-file=${authority}`]),
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      ...(fast ? ['--kube-api-qps=1000', '--kube-api-burst=2000'] : []),
    ],
    kept: true,
    missing: () => probe(`https://127.0.0.1:${port}/healthz`),
  });
}

export function scheduler({ program, directory, kubeconfig, port, fast }: KubeControllerOptions & Rates): Server {
  const config = join(directory, 'scheduler.json');
  const clientConnection = { kubeconfig, ...(fast && { qps: 1000, burst: 2000 }) };
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      leaderElection: { leaderElect: false },
      clientConnection,
    }),
  );
  return server(directory, {
    name: 'scheduler',
    program,
    args: [`--config=${config}`, '--bind-address=127.0.0.1', `--secure-port=${port}`],
    kept: true,
    missing: () => probe(`https://127.0.0.1:${port}/healthz`),
  });
}
