import { readFileSync, writeFileSync } from 'node:fs';

/** Address of the API: its server, or a proxy in front of it. */
export interface ApiAddress {
  readonly server: string;
  /** PEM file. */
  readonly authority: string;
}

/** A token, or the paths of a certificate and its key. */
export type Credential = { readonly token: string } | { readonly certificate: string; readonly key: string };

export type KubeconfigOptions = ApiAddress & Credential & { readonly file: string; readonly user: string };

/** Writes a kubeconfig (as JSON, which is YAML too) that needs no other file, and returns its path. */
export function writeKubeconfig({ file, server, authority, user, ...proof }: KubeconfigOptions): string {
  const name = 'kcover-testbed';
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(authority) } }],
    users: [
      {
        name: user,
        user:
          'token' in proof
            ? { token: proof.token }
            : { 'client-certificate-data': base64(proof.certificate), 'client-key-data': base64(proof.key) },
      },
    ],
    contexts: [{ name, context: { cluster: name, user } }],
  };
  writeFileSync(file, JSON.stringify(config, null, 2), { mode: 0o600 });
  return file;
}

const base64 = (file: string): string => readFileSync(file).toString('base64');
