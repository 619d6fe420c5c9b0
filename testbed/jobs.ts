import type { V1Pod } from '@kubernetes/client-node';
import type { Api } from './api.ts';
import type { BatchJobManifest, PytorchJobManifest } from './job-manifests.ts';
import { until } from './until.ts';

/** A job that exists. */
export interface RunningJob {
  readonly kind: 'PyTorchJob' | 'Job';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** How many pods it has when it runs. */
  readonly pods: number;
  /** Labels of its pods. */
  readonly selector: string;
}

const kubeflow = { group: 'kubeflow.org', version: 'v1', plural: 'pytorchjobs' } as const;

export async function createJob(api: Api, manifest: PytorchJobManifest | BatchJobManifest): Promise<RunningJob> {
  const name = manifest.metadata?.name ?? '';
  const namespace = manifest.metadata?.namespace ?? 'default';
  if (manifest.kind === 'Job') {
    const { metadata } = await api.batch.createNamespacedJob({ namespace, body: manifest });
    const uid = metadata?.uid ?? '';
    return { kind: 'Job', namespace, name, uid, pods: manifest.spec?.parallelism ?? 1, selector: `batch.kubernetes.io/controller-uid=${uid}` };
  }
  const created = (await api.custom.createNamespacedCustomObject({ ...kubeflow, namespace, body: manifest })) as { metadata: { uid: string } };
  const { Master, Worker } = manifest.spec.pytorchReplicaSpecs;
  const pods = Master.replicas + (Worker?.replicas ?? 0);
  return { kind: 'PyTorchJob', namespace, name, uid: created.metadata.uid, pods, selector: `training.kubeflow.org/job-name=${name}` };
}

/** Its pods by name, those of earlier attempts that still exist included. */
export async function podsOf(api: Api, job: RunningJob): Promise<V1Pod[]> {
  const { items } = await api.core.listNamespacedPod({ namespace: job.namespace, labelSelector: job.selector });
  const own = items.filter(({ metadata }) => metadata?.ownerReferences?.some(({ uid }) => uid === job.uid));
  return own.toSorted((a, b) => (a.metadata?.name ?? '').localeCompare(b.metadata?.name ?? ''));
}

/** Waits until all pods of the job are ready (none of them in `except`, by UID), and returns them. */
export function awaitRunning(api: Api, job: RunningJob, options: { readonly withinMs?: number; readonly except?: ReadonlySet<string> } = {}): Promise<V1Pod[]> {
  return until(`${job.kind} ${job.namespace}/${job.name} running`, options.withinMs ?? 60_000, async () => {
    const pods = await podsOf(api, job);
    const ready = pods.filter((pod) => isRunning(pod) && !options.except?.has(pod.metadata?.uid ?? ''));
    return ready.length >= job.pods ? { found: ready } : { missing: `${ready.length} of ${job.pods} pods ready` };
  });
}

function isRunning({ metadata, status }: V1Pod): boolean {
  return (
    metadata?.deletionTimestamp === undefined &&
    status?.phase === 'Running' &&
    (status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false)
  );
}
