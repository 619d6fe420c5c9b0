import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiserverCertificate } from './apiserver.ts';
import type { KubeControllerOptions } from './controllers.ts';
import { probe } from './probe.ts';
import { server, type Server } from './server.ts';

const schemes = ['pytorchjob', 'tfjob', 'mpijob', 'xgboostjob', 'paddlejob'];

/** Both wait until this file exists, never read it, and cannot be given another path. */
const awaited = { directory: '/tmp/k8s-webhook-server/serving-certs', file: 'tls.crt' };

export interface TrainingOperatorOptions extends KubeControllerOptions {
  readonly metricsPort: number;
  readonly webhookPort: number;
  /** Workers wait in it until their master has an address; with simulated kubelets any name will do. */
  readonly initContainerImage: string | undefined;
}

export function trainingOperator({
  program,
  directory,
  kubeconfig,
  port,
  metricsPort,
  webhookPort,
  initContainerImage,
}: TrainingOperatorOptions): Server {
  const name = 'training-operator';
  provideCertificates(directory, name);
  return server(directory, {
    name,
    program,
    args: [
      `--kubeconfig=${kubeconfig}`,
      ...schemes.map((scheme) => `--enable-scheme=${scheme}`),
      `--metrics-bind-address=127.0.0.1:${metricsPort}`,
      `--health-probe-bind-address=127.0.0.1:${port}`,
      `--webhook-server-port=${webhookPort}`,
      '--controller-threads=4',
      ...(initContainerImage === undefined ? [] : [`--pytorch-init-container-image=${initContainerImage}`]),
    ],
    kept: true,
    missing: () => probe(`http://127.0.0.1:${port}/readyz`),
  });
}

/** The webhook servers of the training operator and of the trainer require a certificate below TMPDIR. */
export function provideCertificates(directory: string, name: string): void {
  const serving = join(directory, 'tmp', name, 'k8s-webhook-server', 'serving-certs');
  const { certificate, key } = apiserverCertificate(directory);
  mkdirSync(serving, { recursive: true });
  copyFileSync(certificate, join(serving, 'tls.crt'));
  copyFileSync(key, join(serving, 'tls.key'));
  try {
    mkdirSync(awaited.directory, { recursive: true });
    writeFileSync(join(awaited.directory, awaited.file), 'only its existence matters (kcover testbed)\n', {
      flag: 'wx',
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
