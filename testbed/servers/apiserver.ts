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
}

/** The certificate and key that the API server makes for itself; the certificate is also the CA for clients. */
export function apiserverCertificate(directory: string): { certificate: string; key: string } {
  return { certificate: join(directory, 'apiserver', 'apiserver.crt'), key: join(directory, 'apiserver', 'apiserver.key') };
}

export function auditLogOf(directory: string): string {
  return join(directory, 'logs', 'audit.log');
}

export function apiserver({ program, directory, port, etcdPort, credentials }: ApiserverOptions): Server {
  return server(directory, {
    name: 'apiserver',
    program,
    args: [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      `--cert-dir=${join(directory, 'apiserver')}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      // A loopback address is refused as an endpoint; nobody looks for the server by its Service here.
      '--endpoint-reconciler-type=none',
      `--token-auth-file=${credentials.tokenFile}`,
      `--service-account-key-file=${credentials.serviceAccountKey}`,
      `--service-account-signing-key-file=${credentials.serviceAccountKey}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--allow-privileged=true',
      // It would refuse pods in namespaces whose default account has not been made yet.
      '--disable-admission-plugins=ServiceAccount',
      '--kubelet-preferred-address-types=InternalIP',
      `--audit-policy-file=${join(import.meta.dirname, 'audit-policy.yaml')}`,
      `--audit-log-path=${auditLogOf(directory)}`,
      // Written before the answer is sent, so that a killed server leaves no answered write out.
      '--audit-log-mode=blocking',
      '--audit-log-maxsize=4096',
    ],
    kept: true,
    missing: () => probe(`https://127.0.0.1:${port}/readyz`, { authorization: `Bearer ${credentials.tokens.admin}` }),
  });
}
