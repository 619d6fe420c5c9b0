/** The PyTorchJob of examples/training as people would apply it: its manifest, the script in a ConfigMap, a volume for the checkpoints. */

import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { V1Affinity, V1Container, V1PodSpec } from '@kubernetes/client-node';
import { parse } from 'yaml';
import type { Api } from './api.ts';
import { createJob, type RunningJob } from './jobs.ts';
import type { KubeflowJobManifest } from './job-manifests.ts';
import { realNodesOnly } from './nodes.ts';
import { gpuResource } from './real-nodes/devices.ts';

export interface TrainingJobOptions {
  /** An image with Python and torch that every node has already. */
  readonly image: string;
  /** A directory that all nodes see, in place of a shared file system. */
  readonly checkpoints: string;
  /** Options for train.py, added to those of the manifest or replacing them. */
  readonly options: readonly string[];
}

const example = join(import.meta.dirname, '..', 'examples', 'training');
const [claim, script] = ['training-checkpoints', 'training-script'];
/** One GPU for each rank of a pod. */
const gpus = '2';

interface Replicas {
  readonly template: { readonly spec: V1PodSpec };
}

/** Creates the job in the namespace of the manifest, which must exist. */
export async function createTrainingJob(api: Api, options: TrainingJobOptions): Promise<RunningJob> {
  const manifest = parse(await readFile(join(example, 'pytorchjob.yaml'), 'utf8')) as KubeflowJobManifest;
  const { namespace } = manifest.metadata;
  await api.core.createNamespacedConfigMap({
    namespace,
    body: { metadata: { name: script }, data: { 'train.py': await readFile(join(example, 'train.py'), 'utf8') } },
  });
  mkdirSync(options.checkpoints, { recursive: true });
  await createVolume(api, namespace, options.checkpoints);
  const roles = manifest.spec['pytorchReplicaSpecs'] as Readonly<Record<string, Replicas>>;
  const adapted = Object.entries(roles).map(([role, replicas]) => [role, adapt(options, replicas)]);
  return createJob(api, { ...manifest, spec: { ...manifest.spec, pytorchReplicaSpecs: Object.fromEntries(adapted) } });
}

/** Replaces the manifest's image, which does not exist, and removes its accelerators. */
function adapt({ image, options }: TrainingJobOptions, replicas: Replicas): Replicas {
  const { spec } = replicas.template;
  const adaptContainer = (container: V1Container): V1Container => ({
    ...container,
    image,
    imagePullPolicy: 'Never',
    // When an option is given twice, the last one counts.
    command: [...(container.command ?? []), ...options],
    resources: { ...container.resources, limits: { ...container.resources?.limits, [gpuResource]: gpus } },
  });
  const affinity: V1Affinity = { ...spec.affinity, ...realNodesOnly };
  return {
    ...replicas,
    template: { ...replicas.template, spec: { ...spec, affinity, containers: spec.containers.map(adaptContainer) } },
  };
}

async function createVolume(api: Api, namespace: string, path: string): Promise<void> {
  const storage = { storage: '1Gi' };
  const shared = { accessModes: ['ReadWriteMany'], storageClassName: '' };
  await api.core.createPersistentVolume({
    body: { metadata: { name: claim }, spec: { ...shared, capacity: storage, hostPath: { path } } },
  });
  await api.core.createNamespacedPersistentVolumeClaim({
    namespace,
    body: { metadata: { name: claim }, spec: { ...shared, volumeName: claim, resources: { requests: storage } } },
  });
}
