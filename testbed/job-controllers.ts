import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { post } from './definitions.ts';
import type { OnProgress } from './parts/cache.ts';
import { readEnvironment } from './parts/environment.ts';
import { type JobController, jobControllerProgram, type JobControllerProgram } from './parts/job-controllers.ts';
import { apiserverCertificate } from './servers/apiserver.ts';
import { kuberay, mpiOperator, trainer, webhookController } from './servers/job-controllers.ts';
import type { KubeControllerOptions } from './servers/controllers.ts';
import { Ports } from './servers/ports.ts';
import type { Server } from './servers/server.ts';
import { trainingRuntimes } from './set-manifests.ts';
import { until } from './until.ts';
import type { TestCluster } from './test-cluster.ts';

interface ControllerManifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string }[];
  };
  readonly webhooks?: readonly { readonly clientConfig: { readonly service: { readonly path: string } } }[];
}

const places: Readonly<Record<string, string>> = {
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  MutatingWebhookConfiguration: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  ValidatingWebhookConfiguration: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
};

type Name = Exclude<JobController, 'kueue'>;
export type JobControllers = Readonly<Record<Name, JobControllerProgram>>;

const names: readonly Name[] = ['lws', 'jobset', 'mpi-operator', 'trainer', 'kuberay'];

/** Builds them, one after the other; call it before a test cluster uses the cores. */
export async function obtainJobControllers(onProgress: OnProgress): Promise<JobControllers> {
  const environment = readEnvironment();
  const obtained: Partial<Record<Name, JobControllerProgram>> = {};
  for (const name of names) obtained[name] = await jobControllerProgram(name, environment, onProgress);
  return obtained as JobControllers;
}

/**
 * Starts the controllers of LeaderWorkerSet, of JobSet, of the MPIJob of the mpi-operator, of TrainJob and of RayCluster in a test cluster, each with its own
 * definitions and webhooks. The training operator is ended: its definition of MPIJob has the same name. Returns a function that releases their ports; the test
 * cluster ends their processes.
 */
export async function startJobControllers(cluster: TestCluster, programs: JobControllers): Promise<() => void> {
  const { api, directory, kubernetes, servers } = cluster;
  await servers.trainingOperator.stop();
  const definition = {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    plural: 'customresourcedefinitions',
    name: 'mpijobs.kubeflow.org',
  };
  await api.custom.deleteClusterCustomObject(definition);
  const ports = new Ports(directory);
  const { kubeconfig } = kubernetes;
  for (const name of names) {
    const [port, webhookPort] = [await ports.take(), await ports.take()];
    const { program } = programs[name];
    await installManifests(cluster, programs[name], webhookPort, 'CustomResourceDefinition');
    if (name === 'trainer') await createWebhookSecret(cluster);
    const controller = await controllerOf(name, { program, directory, kubeconfig, port, webhookPort });
    await controller.start();
    await installManifests(cluster, programs[name], webhookPort, 'WebhookConfiguration');
  }
  await createTrainingRuntimes(cluster);
  return () => ports.release();
}

function controllerOf(
  name: Name,
  options: KubeControllerOptions & { readonly webhookPort: number },
): Server | Promise<Server> {
  if (name === 'mpi-operator') return mpiOperator(options);
  if (name === 'trainer') return trainer(options);
  if (name === 'kuberay') return kuberay(options);
  return webhookController({ name, ...options });
}

/** The trainer fills it, and cannot be given another namespace. */
async function createWebhookSecret({ api }: TestCluster): Promise<void> {
  const namespace = 'kubeflow-system';
  await api.core.createNamespace({ body: { metadata: { name: namespace } } });
  await api.core.createNamespacedSecret({ namespace, body: { metadata: { name: 'kubeflow-trainer-webhook-cert' } } });
}

async function createTrainingRuntimes({ api }: TestCluster): Promise<void> {
  const place = { group: 'trainer.kubeflow.org', version: 'v1alpha1', plural: 'clustertrainingruntimes' };
  for (const body of trainingRuntimes) {
    await until(`runtime ${body.metadata?.name} created`, 60_000, async () => {
      await api.custom.createClusterCustomObject({ ...place, body });
      return { found: true };
    });
  }
}

/** Definitions come before the controller, which watches them; webhooks once it listens. */
export async function installManifests(
  { directory, kubernetes, api }: TestCluster,
  program: JobControllerProgram,
  webhookPort: number,
  kind: string,
): Promise<void> {
  const caBundle = readFileSync(apiserverCertificate(directory).certificate).toString('base64');
  const token = adminToken(kubernetes.kubeconfig);
  const manifests = (JSON.parse(await readFile(program.manifests, 'utf8')) as ControllerManifest[]).filter((each) =>
    each.kind.endsWith(kind),
  );
  for (const manifest of manifests) {
    const webhooks = manifest.webhooks?.map((webhook) => ({
      ...webhook,
      clientConfig: { url: `https://127.0.0.1:${webhookPort}${webhook.clientConfig.service.path}`, caBundle },
    }));
    const name = webhooks ? `${webhookPort}-${manifest.metadata.name}` : manifest.metadata.name;
    const object = { ...manifest, metadata: { ...manifest.metadata, name }, ...(webhooks && { webhooks }) };
    await until(`${name} created`, 60_000, async () => {
      await post(kubernetes.server, token, places[manifest.kind] ?? '', Buffer.from(JSON.stringify(object)));
      return { found: true };
    });
    const { spec } = manifest;
    if (spec) {
      const place = { group: spec.group, version: spec.versions[0]?.name ?? '', plural: spec.names.plural };
      await until(`${name} served`, 60_000, async () => {
        await api.custom.listClusterCustomObject({ ...place, limit: 1 });
        // A controller looks up its kinds when it starts; a kind of a group that existed before is listed some time after it is served.
        const { resources } = await api.custom.getAPIResources(place);
        return resources.some(({ name }) => name === place.plural) ? { found: true } : { missing: 'not listed yet' };
      });
    }
  }
}

function adminToken(kubeconfig: string): string {
  const { users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
    readonly users: readonly { readonly user: { readonly token: string } }[];
  };
  return users[0]?.user.token ?? '';
}
