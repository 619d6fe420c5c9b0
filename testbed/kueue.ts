import type { KubernetesObject } from '@kubernetes/client-node';
import type { OnProgress } from './parts/cache.ts';
import { installManifests } from './job-controllers.ts';
import { readEnvironment } from './parts/environment.ts';
import { jobControllerProgram, type JobControllerProgram } from './parts/job-controllers.ts';
import { kueue } from './servers/job-controllers.ts';
import { Ports } from './servers/ports.ts';
import type { TestCluster } from './test-cluster.ts';
import { until } from './until.ts';

/** Builds Kueue; call it before a test cluster uses the cores. */
export const obtainKueue = (onProgress: OnProgress): Promise<JobControllerProgram> =>
  jobControllerProgram('kueue', readEnvironment(), onProgress);

/** Starts Kueue in a test cluster, beside the training operator, with its webhooks. Returns a function that releases its ports. */
export async function startKueue(cluster: TestCluster, program: JobControllerProgram): Promise<() => void> {
  const { directory, kubernetes } = cluster;
  const ports = new Ports(directory);
  const [port, webhookPort] = [await ports.take(), await ports.take()];
  await cluster.api.core.createNamespace({ body: { metadata: { name: 'kueue-system' } } });
  await installManifests(cluster, program, webhookPort, 'CustomResourceDefinition');
  const { kubeconfig } = kubernetes;
  await kueue({ program: program.program, directory, kubeconfig, port, webhookPort }).start();
  await installManifests(cluster, program, webhookPort, 'WebhookConfiguration');
  await createQueue(cluster);
  return () => ports.release();
}

/** Name of the only LocalQueue, in namespace `default`. */
export const queueName = 'gpus';
/** GPUs that its ClusterQueue can give: two jobs of two pods with one GPU each. */
const quota = '4';

const version = 'v1beta2';
const group = 'kueue.x-k8s.io';

async function createQueue({ api }: TestCluster): Promise<void> {
  const object = (kind: string, name: string, more: object): KubernetesObject => ({
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name },
    ...more,
  });
  const resources = [{ name: 'nvidia.com/gpu', nominalQuota: quota }];
  const spec = {
    namespaceSelector: {},
    preemption: { withinClusterQueue: 'LowerPriority' },
    resourceGroups: [{ coveredResources: ['nvidia.com/gpu'], flavors: [{ name: 'gpu', resources }] }],
  };
  const wide: readonly (readonly [string, KubernetesObject])[] = [
    ['resourceflavors', object('ResourceFlavor', 'gpu', {})],
    ['clusterqueues', object('ClusterQueue', 'gpus', { spec })],
    ['workloadpriorityclasses', object('WorkloadPriorityClass', 'urgent', { value: 1000 })],
  ];
  for (const [plural, body] of wide) {
    await until(`${plural} created`, 60_000, async () => {
      await api.custom.createClusterCustomObject({ group, version, plural, body });
      return { found: true };
    });
  }
  const body = object('LocalQueue', queueName, { spec: { clusterQueue: 'gpus' } });
  await api.custom.createNamespacedCustomObject({ group, version, plural: 'localqueues', namespace: 'default', body });
}
