import type { V1Job, V1PodTemplateSpec, V1Toleration } from '@kubernetes/client-node';
import type { JobKind } from '../contract/job/jobs.ts';

export interface JobOptions {
  readonly name: string;
  readonly namespace?: string;
  /** GPUs of each pod; 8 by default. */
  readonly gpus?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly podLabels?: Readonly<Record<string, string>>;
  readonly podAnnotations?: Readonly<Record<string, string>>;
  /** How long a pod takes to stop; 0 by default. */
  readonly terminationSeconds?: number;
  /** Exit code of its containers on SIGTERM; without it the pod is just deleted. */
  readonly exitOnTerm?: number;
  /** How long a pod takes to start; 0 by default. */
  readonly startupSeconds?: number;
  readonly initContainers?: readonly string[];
  /** Init containers that keep running beside the others. */
  readonly sidecars?: readonly string[];
  /** Of its pods. */
  readonly priorityClass?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly V1Toleration[];
  readonly suspend?: boolean;
  readonly backoffLimit?: number;
}

/** Kinds of the training operator. */
export type KubeflowKindName = keyof typeof shapes;

export interface KubeflowJobOptions extends JobOptions {
  /** Pods of each role; by default one leader, where the kind has one, and two workers. */
  readonly roles?: Readonly<Record<string, number>>;
  readonly restartPolicy?: 'Never' | 'OnFailure' | 'Always' | 'ExitCode';
  /** Further fields of the spec. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface PytorchJobOptions extends Omit<KubeflowJobOptions, 'roles'> {
  /** Workers, in addition to the one master. */
  readonly workers: number;
}

export interface BatchJobOptions extends JobOptions {
  /** An Indexed job with this many pods at once. */
  readonly pods: number;
  readonly restartPolicy?: 'Never' | 'OnFailure';
}

export interface KubeflowJobManifest {
  readonly apiVersion: 'kubeflow.org/v1';
  readonly kind: KubeflowKindName;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: object;
    readonly annotations: object;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A job of a kind whose controller runs here. */
export type JobManifest = KubeflowJobManifest | BatchJobManifest;

export type BatchJobManifest = V1Job & { readonly kind: 'Job' };

const image = 'registry.k8s.io/pause:3.10';

interface ManifestShape {
  readonly replicaSpecs: string;
  /** The operator looks up exit code and port under this name. */
  readonly container: string;
  readonly roles: Readonly<Record<string, number>>;
}

/** How the manifest of each kind is laid out. */
const shapes = {
  PyTorchJob: { replicaSpecs: 'pytorchReplicaSpecs', container: 'pytorch', roles: { Master: 1, Worker: 2 } },
  TFJob: { replicaSpecs: 'tfReplicaSpecs', container: 'tensorflow', roles: { Chief: 1, Worker: 2 } },
  MPIJob: { replicaSpecs: 'mpiReplicaSpecs', container: 'mpi', roles: { Launcher: 1, Worker: 2 } },
  XGBoostJob: { replicaSpecs: 'xgbReplicaSpecs', container: 'xgboost', roles: { Master: 1, Worker: 2 } },
  PaddleJob: { replicaSpecs: 'paddleReplicaSpecs', container: 'paddle', roles: { Master: 1, Worker: 2 } },
} as const satisfies Partial<Record<JobKind, ManifestShape>>;

export const kubeflowKinds: readonly JobKind[] = Object.keys(shapes).filter(
  (kind): kind is KubeflowKindName => kind in shapes,
);

export function kubeflowJob(kind: KubeflowKindName, options: KubeflowJobOptions): KubeflowJobManifest {
  const {
    name,
    namespace = 'default',
    restartPolicy = 'OnFailure',
    labels = {},
    annotations = {},
    suspend,
    backoffLimit,
  } = options;
  const { replicaSpecs, container, roles: usual } = shapes[kind];
  const replicas = (role: string, count: number) => ({
    replicas: count,
    restartPolicy,
    // A launcher only starts the others, so it needs no GPU.
    template: podTemplate(role === 'Launcher' ? { ...options, gpus: 0 } : options, container, {}),
  });
  return {
    apiVersion: 'kubeflow.org/v1',
    kind,
    metadata: { name, namespace, labels, annotations },
    spec: {
      runPolicy: {
        cleanPodPolicy: 'None',
        ...(suspend === undefined ? {} : { suspend }),
        ...(backoffLimit === undefined ? {} : { backoffLimit }),
      },
      [replicaSpecs]: Object.fromEntries(
        Object.entries(options.roles ?? usual).map(([role, count]) => [role, replicas(role, count)]),
      ),
      ...options.spec,
    },
  };
}

export const pytorchJob = ({ workers, ...options }: PytorchJobOptions): KubeflowJobManifest =>
  kubeflowJob('PyTorchJob', { ...options, roles: { Master: 1, ...(workers > 0 && { Worker: workers }) } });

export function batchJob(options: BatchJobOptions): BatchJobManifest {
  const {
    name,
    namespace = 'default',
    pods,
    restartPolicy = 'Never',
    labels = {},
    annotations = {},
    suspend = false,
    backoffLimit = 0,
  } = options;
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

export function podTemplate(
  options: JobOptions,
  container: string,
  policy: { restartPolicy?: string },
): V1PodTemplateSpec {
  const { gpus = 8, terminationSeconds, exitOnTerm, startupSeconds, initContainers = [], sidecars = [] } = options;
  const before = [
    ...initContainers.map((each) => ({ name: each, image })),
    ...sidecars.map((each) => ({ name: each, image, restartPolicy: 'Always' })),
  ];
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
      // Set here, because the admission plugin that would fill it in is off and tokens are bound by it.
      serviceAccountName: 'default',
      terminationGracePeriodSeconds: Math.max(30, Math.ceil(terminationSeconds ?? 0)),
      ...(options.tolerations ? { tolerations: [...options.tolerations] } : {}),
      ...(options.nodeSelector ? { nodeSelector: { ...options.nodeSelector } } : {}),
      ...(options.priorityClass === undefined ? {} : { priorityClassName: options.priorityClass }),
      ...(before.length > 0 ? { initContainers: before } : {}),
      containers: [{ name: container, image, resources }],
    },
  };
}
