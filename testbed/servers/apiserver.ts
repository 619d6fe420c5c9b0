import { join } from 'node:path';
import type { Credentials } from './credentials.ts';
import { probe } from './probe.ts';
import { server, type Server } from './server.ts';

export interface ApiserverOptions {
  readonly program: string;
  readonly directory: string;
  readonly port: number;
  readonly etcdPort: number;
  readonly credentials: Credentials;
  /** An address that the nodes reach too. */
  readonly address: string;
  /** Where there are real kubelets: who signs their certificates, and who the server is to them. Paths of PEM files. */
  readonly kubelets: { readonly authority: string; readonly certificate: string; readonly key: string } | undefined;
}

/** The certificate and key that the API server makes for itself; the certificate is also the CA for clients. */
export function apiserverCertificate(directory: string): { certificate: string; key: string } {
  return { certificate: join(directory, 'apiserver', 'apiserver.crt'), key: join(directory, 'apiserver', 'apiserver.key') };
}

export function auditLogOf(directory: string): string {
  return join(directory, 'logs', 'audit.log');
}

export function apiserver({ program, directory, port, etcdPort, credentials, address, kubelets }: ApiserverOptions): Server {
  return server(directory, {
    name: 'apiserver',
    program,
    args: [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      `--cert-dir=${join(directory, 'apiserver')}`,
      `--secure-port=${port}`,
      `--bind-address=${address}`,
      `--advertise-address=${address}`,
      `--token-auth-file=${credentials.tokenFile}`,
      `--service-account-key-file=${credentials.serviceAccountKey}`,
      `--service-account-signing-key-file=${credentials.serviceAccountKey}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--allow-privileged=true',
      '--kubelet-preferred-address-types=InternalIP',
      ...(kubelets === undefined ? withSimulatedKubelets : withRealKubelets(kubelets)),
      `--audit-policy-file=${join(import.meta.dirname, 'audit-policy.yaml')}`,
      `--audit-log-path=${auditLogOf(directory)}`,
      // Written before the answer is sent, so that a killed server leaves no answered write out.
      '--audit-log-mode=blocking',
      '--audit-log-maxsize=4096',
    ],
    kept: true,
    missing: () => probe(`https://${address}:${port}/readyz`, { authorization: `Bearer ${credentials.tokens.admin}` }),
  });
}

const withSimulatedKubelets = [
  // A loopback address is refused as an endpoint; nobody looks for the server by its Service here.
  '--endpoint-reconciler-type=none',
  '--authorization-mode=RBAC',
  // It would refuse pods in namespaces whose default account has not been made yet.
  '--disable-admission-plugins=ServiceAccount',
];

const withRealKubelets = ({ authority, certificate, key }: NonNullable<ApiserverOptions['kubelets']>): string[] => [
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  `--client-ca-file=${authority}`,
  `--kubelet-certificate-authority=${authority}`,
  `--kubelet-client-certificate=${certificate}`,
  `--kubelet-client-key=${key}`,
];
