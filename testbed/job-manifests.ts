import type { V1Job, V1PodTemplateSpec, V1Toleration } from '@kubernetes/client-node';

export interface JobOptions {
  readonly name: string;
  readonly namespace?: string;
  /** GPUs of each pod; 8 unless told. */
  readonly gpus?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly podLabels?: Readonly<Record<string, string>>;
  readonly podAnnotations?: Readonly<Record<string, string>>;
  /** How long a pod takes to stop; at once unless told. */
  readonly terminationSeconds?: number;
  /** What its containers exit with when told to stop; without it the pod just goes. */
  readonly exitOnTerm?: number;
  /** How long a pod takes to start; at once unless told. */
  readonly startupSeconds?: number;
  readonly initContainers?: readonly string[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly V1Toleration[];
  readonly suspend?: boolean;
  readonly backoffLimit?: number;
}

export interface PytorchJobOptions extends JobOptions {
  /** Beside the one master. */
  readonly workers: number;
  readonly restartPolicy?: 'Never' | 'OnFailure' | 'Always' | 'ExitCode';
}

export interface BatchJobOptions extends JobOptions {
  /** An Indexed job with this many pods at once. */
  readonly pods: number;
  readonly restartPolicy?: 'Never' | 'OnFailure';
}

export interface PytorchJobManifest {
  readonly apiVersion: 'kubeflow.org/v1';
  readonly kind: 'PyTorchJob';
  readonly metadata: { readonly name: string; readonly namespace: string; readonly labels: object; readonly annotations: object };
  readonly spec: { readonly runPolicy: object; readonly pytorchReplicaSpecs: { readonly Master: ReplicaSpec; readonly Worker?: ReplicaSpec } };
}

interface ReplicaSpec {
  readonly replicas: number;
  readonly restartPolicy: string;
  readonly template: V1PodTemplateSpec;
}

export type BatchJobManifest = V1Job & { readonly kind: 'Job' };

const image = 'registry.k8s.io/pause:3.10';

export function pytorchJob(options: PytorchJobOptions): PytorchJobManifest {
  const { name, namespace = 'default', workers, restartPolicy = 'OnFailure', labels = {}, annotations = {}, suspend, backoffLimit } = options;
  const replicas = (count: number): ReplicaSpec => ({ replicas: count, restartPolicy, template: podTemplate(options, 'pytorch', {}) });
  return {
    apiVersion: 'kubeflow.org/v1',
    kind: 'PyTorchJob',
    metadata: { name, namespace, labels, annotations },
    spec: {
      runPolicy: { cleanPodPolicy: 'None', ...(suspend === undefined ? {} : { suspend }), ...(backoffLimit === undefined ? {} : { backoffLimit }) },
      pytorchReplicaSpecs: { Master: replicas(1), ...(workers > 0 ? { Worker: replicas(workers) } : {}) },
    },
  };
}

export function batchJob(options: BatchJobOptions): BatchJobManifest {
  const { name, namespace = 'default', pods, restartPolicy = 'Never', labels = {}, annotations = {}, suspend = false, backoffLimit = 0 } = options;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace, labels: { ...labels }, annotations: { ...annotations } },
    spec: {
      completionMode: 'Indexed',
      completions: pods,
      parallelism: pods,
      backoffLimit,
      suspend,
      template: podTemplate(options, 'trainer', { restartPolicy }),
    },
  };
}

function podTemplate(options: JobOptions, container: string, policy: { restartPolicy?: string }): V1PodTemplateSpec {
  const { gpus = 8, terminationSeconds, exitOnTerm, startupSeconds, initContainers = [] } = options;
  const behaviour = {
    ...(terminationSeconds === undefined ? {} : { 'testbed.kcover.io/termination': `${terminationSeconds}s` }),
    ...(exitOnTerm === undefined ? {} : { 'testbed.kcover.io/exit-on-term': String(exitOnTerm) }),
    ...(startupSeconds === undefined ? {} : { 'testbed.kcover.io/startup': `${startupSeconds}s` }),
  };
  const resources = gpus === 0 ? {} : { limits: { 'nvidia.com/gpu': String(gpus) } };
  return {
    metadata: { labels: { ...options.podLabels }, annotations: { ...behaviour, ...options.podAnnotations } },
    spec: {
      ...policy,
      // Named, because the admission plugin that would fill it in is off and tokens are bound by it.
      serviceAccountName: 'default',
      terminationGracePeriodSeconds: Math.max(30, Math.ceil(terminationSeconds ?? 0)),
      ...(options.tolerations ? { tolerations: [...options.tolerations] } : {}),
      ...(options.nodeSelector ? { nodeSelector: { ...options.nodeSelector } } : {}),
      ...(initContainers.length > 0 ? { initContainers: initContainers.map((name) => ({ name, image })) } : {}),
      containers: [{ name: container, image, resources }],
    },
  };
}
