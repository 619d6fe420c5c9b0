import { readFileSync, writeFileSync } from 'node:fs';

/** Where the API is reached: at its server, or at a proxy in front of it. */
export interface ApiAddress {
  readonly server: string;
  /** PEM file. */
  readonly authority: string;
}

export interface KubeconfigOptions extends ApiAddress {
  readonly file: string;
  readonly user: string;
  readonly token: string;
}

/** Writes a kubeconfig (as JSON, which is YAML too) that needs no other file, and returns its path. */
export function writeKubeconfig({ file, server, authority, user, token }: KubeconfigOptions): string {
  const name = 'kcover-testbed';
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority-data': readFileSync(authority).toString('base64') } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
  };
  writeFileSync(file, JSON.stringify(config, null, 2), { mode: 0o600 });
  return file;
}
