import { readdir, readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import type { Api } from './api.ts';
import { until } from './until.ts';

export interface DefinitionsOptions {
  readonly server: string;
  readonly token: string;
  /** Directory of JSON files. */
  readonly definitions: string;
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string }[];
  };
}

/** Installs the kinds of jobs; resolves when the API server serves them. */
export async function installDefinitions(api: Api, { server, token, definitions }: DefinitionsOptions): Promise<void> {
  const files = await readdir(definitions);
  await Promise.all(
    files.map(async (file) => {
      const body = await readFile(join(definitions, file));
      await post(server, token, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body);
      // The server accepts a definition some time before it serves the kind (and delays a create that comes
      // within the first two seconds).
      await served(api, JSON.parse(body.toString()) as Definition);
    }),
  );
}

/** What the training operator finds when it is installed: its kinds, its namespace, an empty Secret and a webhook configuration to fill. */
export async function installTrainingOperator(api: Api, options: DefinitionsOptions): Promise<void> {
  const webhooks = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'validator.training-operator.kubeflow.org' },
    webhooks: [],
  };
  await Promise.all([
    installDefinitions(api, options),
    post(
      options.server,
      options.token,
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
      Buffer.from(JSON.stringify(webhooks)),
    ),
    api.core.createNamespace({ body: { metadata: { name: 'kubeflow' } } }).then(() =>
      api.core.createNamespacedSecret({
        namespace: 'kubeflow',
        body: { metadata: { name: 'training-operator-webhook-cert' } },
      }),
    ),
  ]);
}

function served(api: Api, { spec: { group, names, versions } }: Definition): Promise<true> {
  const { plural } = names;
  return until(`${plural} served`, 30_000, async () => {
    await api.custom.listClusterCustomObject({ group, version: versions[0]?.name ?? '', plural, limit: 1 });
    return { found: true };
  });
}

/** Posts the bytes unchanged: the typed client drops the x-kubernetes-* fields of a schema. */
export function post(server: string, token: string, path: string, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': body.length,
    };
    const call = request(`${server}${path}`, { method: 'POST', headers, rejectUnauthorized: false }, (response) => {
      let answer = '';
      response.on('data', (chunk: Buffer) => (answer += chunk.toString()));
      response.on('end', () =>
        response.statusCode === 201
          ? resolve()
          : reject(new Error(`POST ${path} answered ${response.statusCode}: ${answer.slice(0, 500)}`)),
      );
    });
    call.once('error', reject);
    call.end(body);
  });
}
