import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
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
  /** Users of whom the audit log has all requests, not only writes: it costs time, so only a count of requests asks for it. */
  readonly auditAllOf: readonly string[];
  /** With real kubelets: the authority of their certificates, and the server's identity to them. Paths of PEM files. */
  readonly kubelets: { readonly authority: string; readonly certificate: string; readonly key: string } | undefined;
}

/** The certificate and key that the API server creates for itself; the certificate is also the CA for clients. */
export function apiserverCertificate(directory: string): { certificate: string; key: string } {
  return {
    certificate: join(directory, 'apiserver', 'apiserver.crt'),
    key: join(directory, 'apiserver', 'apiserver.key'),
  };
}

export function auditLogOf(directory: string): string {
  return join(directory, 'logs', 'audit.log');
}

/** The path of the policy, with these users' reads and Events before what leaves them out. */
function auditPolicy(directory: string, users: readonly string[]): string {
  const path = join(import.meta.dirname, 'audit-policy.yaml');
  if (users.length === 0) return path;
  const policy = parse(readFileSync(path, 'utf8')) as { rules: object[] };
  const leases = { level: 'None', resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }] };
  const reads = { level: 'Metadata', users, verbs: ['get', 'list', 'watch'] };
  const events = {
    level: 'Metadata',
    users,
    resources: ['', 'events.k8s.io'].map((group) => ({ group, resources: ['events'] })),
  };
  const wider = join(directory, 'apiserver', 'audit-policy.yaml');
  mkdirSync(join(directory, 'apiserver'), { recursive: true });
  writeFileSync(wider, stringify({ ...policy, rules: [leases, reads, events, ...policy.rules] }));
  return wider;
}

export function apiserver({
  program,
  directory,
  port,
  etcdPort,
  credentials,
  address,
  auditAllOf,
  kubelets,
}: ApiserverOptions): Server {
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
      `--audit-policy-file=${auditPolicy(directory, auditAllOf)}`,
      `--audit-log-path=${auditLogOf(directory)}`,
      // Written before the response is sent, so that a killed server omits no answered write.
      '--audit-log-mode=blocking',
      '--audit-log-maxsize=4096',
    ],
    kept: true,
    missing: () => probe(`https://${address}:${port}/readyz`, { authorization: `Bearer ${credentials.tokens.admin}` }),
  });
}

const withSimulatedKubelets = [
  // A loopback address is refused as an endpoint; the server is not looked up by its Service here.
  '--endpoint-reconciler-type=none',
  '--authorization-mode=RBAC',
  // It would refuse pods in namespaces whose default account does not exist yet.
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
