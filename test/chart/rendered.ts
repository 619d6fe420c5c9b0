/** The chart as the real helm renders it. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  KubernetesObject,
  V1ConfigMap,
  V1Container,
  V1DaemonSet,
  V1Deployment,
  V1Namespace,
  V1NetworkPolicy,
  V1Pod,
  V1PodSpec,
  V1PodTemplateSpec,
  V1Secret,
  V1Service,
  V1ValidatingAdmissionPolicy,
} from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';
import { chartDirectory, type Helm, helmFor, release } from '../../testbed/chart.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import type { Finished } from '../../testbed/parts/command.ts';
import { type TestServers, testServers } from '../support/rig.ts';

export const fullValues = join(import.meta.dirname, 'full-values.yaml');

interface ServersWithHelm extends TestServers {
  readonly helm: string;
  readonly directory: string;
  readonly kubeconfig: string;
}

export const testHelm = (): Helm => {
  const { helm, directory, kubeconfig } = testServers<ServersWithHelm>();
  return helmFor(helm, { directory, kubernetes: { kubeconfig } });
};

/** Writes values to a file, for an option of helm. */
export function valuesFile(values: object): string {
  const file = join(testServers<ServersWithHelm>().directory, `values-${process.hrtime.bigint()}.json`);
  writeFileSync(file, JSON.stringify(values));
  return file;
}

/** The API of the Prometheus operator, which the test cluster does not have. */
const operatorApi = 'monitoring.coreos.com/v1';

/** Renders without a check of the result. */
export const tryRender = (...files: readonly string[]): Promise<Finished> =>
  testHelm().run(
    'template',
    release,
    chartDirectory,
    '--namespace',
    ownNamespace,
    '--api-versions',
    operatorApi,
    ...files.flatMap((file) => ['--values', file]),
  );

export async function render(...files: readonly string[]): Promise<Rendered> {
  const { code, stdout, tail } = await tryRender(...files);
  if (code !== 0) throw new Error(`helm cannot render the chart: ${tail}`);
  const documents = parseAllDocuments(stdout).map((document) => document.toJS() as KubernetesObject | null);
  return new Rendered(documents.filter((object) => object !== null));
}

/** The notes that helm prints after an installation. */
export async function notes(values: object): Promise<string> {
  const { code, stdout, tail } = await testHelm().run(
    'install',
    release,
    chartDirectory,
    '--namespace',
    ownNamespace,
    '--dry-run=client',
    '--values',
    valuesFile(values),
  );
  if (code !== 0) throw new Error(`helm cannot render the chart: ${tail}`);
  return stdout.slice(stdout.indexOf('NOTES:'));
}

interface Kinds {
  readonly Certificate: KubernetesObject & { readonly spec?: Readonly<Record<string, unknown>> };
  readonly Namespace: V1Namespace;
  readonly PrometheusRule: KubernetesObject & { readonly spec?: Readonly<Record<string, unknown>> };
  readonly NetworkPolicy: V1NetworkPolicy;
  readonly ValidatingAdmissionPolicy: V1ValidatingAdmissionPolicy;
  readonly ConfigMap: V1ConfigMap;
  readonly DaemonSet: V1DaemonSet;
  readonly Deployment: V1Deployment;
  readonly Pod: V1Pod;
  readonly Secret: V1Secret;
  readonly Service: V1Service;
}

/** The rendered objects for some values. */
export class Rendered {
  readonly objects: readonly KubernetesObject[];

  constructor(objects: readonly KubernetesObject[]) {
    this.objects = objects;
  }

  names(): string[] {
    return this.objects.map(({ kind, metadata }) => `${kind}/${metadata?.name}`);
  }

  the<Kind extends keyof Kinds>(kind: Kind, name: string): Kinds[Kind] {
    const found = this.objects.find((object) => object.kind === kind && object.metadata?.name === name);
    if (!found) throw new Error(`there is no ${kind} ${name}: ${this.names().join(', ')}`);
    return found;
  }

  /** The pods of a role. */
  template(role: 'agent' | 'controller' | 'worker', fullName: string = release): V1PodTemplateSpec {
    const name = `${fullName}-${role}`;
    const { spec } = role === 'agent' ? this.the('DaemonSet', name) : this.the('Deployment', name);
    if (!spec) throw new Error(`${name} has no spec`);
    return spec.template;
  }

  pod(
    role: 'agent' | 'controller' | 'worker',
    fullName?: string,
  ): { readonly spec: V1PodSpec; readonly container: V1Container } {
    const { spec } = this.template(role, fullName);
    const container = spec?.containers[0];
    if (!spec || !container) throw new Error(`${role} has no container`);
    return { spec, container };
  }

  /** The text of a role's settings file. */
  settings(role: 'agent' | 'controller' | 'worker', fullName: string = release): string {
    return this.the('ConfigMap', `${fullName}-${role}`).data?.['settings.yaml'] ?? '';
  }
}

/** The fields that define a right, without labels and fields that the server adds. */
export function essence(object: KubernetesObject): object {
  const { kind, metadata, rules, roleRef, subjects } = object as KubernetesObject & {
    rules?: unknown;
    roleRef?: unknown;
    subjects?: unknown;
  };
  return {
    kind,
    name: metadata?.name,
    ...(metadata?.namespace && { namespace: metadata.namespace }),
    rules,
    roleRef,
    subjects,
  };
}
