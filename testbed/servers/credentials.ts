import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Users of the API server. Each client has a user of its own, so that the audit log distinguishes them. */
export const users = {
  admin: 'testbed-admin',
  controllerManager: 'system:kube-controller-manager',
  scheduler: 'system:kube-scheduler',
  kwok: 'kwok',
  trainingOperator: 'training-operator',
} as const;

export type ControlPlaneComponent = keyof typeof users;

export interface Credentials {
  readonly tokens: Readonly<Record<ControlPlaneComponent, string>>;
  readonly tokenFile: string;
  /** Signs and checks the tokens of service accounts. */
  readonly serviceAccountKey: string;
}

export function createCredentials(runDirectory: string): Credentials {
  const directory = join(runDirectory, 'credentials');
  mkdirSync(directory, { mode: 0o700 });
  const components = Object.keys(users) as ControlPlaneComponent[];
  const tokens = Object.fromEntries(
    components.map((component) => [component, randomBytes(24).toString('hex')]),
  ) as Record<ControlPlaneComponent, string>;
  const tokenFile = join(directory, 'tokens.csv');
  writeFileSync(
    tokenFile,
    components.map((component) => `${tokens[component]},${users[component]},${component},system:masters\n`).join(''),
  );
  const serviceAccountKey = join(directory, 'service-account.pem');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  writeFileSync(serviceAccountKey, privateKey.export({ type: 'sec1', format: 'pem' }));
  return { tokens, tokenFile, serviceAccountKey };
}
