import type { KubernetesObject, V1Pod } from '@kubernetes/client-node';
import type { JobKind } from '../contract/job/jobs.ts';
import { jobKindOf, jobKinds } from '../kube/jobs/kinds/index.ts';
import { type Api, merge } from './api.ts';
import type { GroupManifest } from './group-manifests.ts';
import type { JobManifest } from './job-manifests.ts';
import { until } from './until.ts';

/** A created job. */
export interface RunningJob {
  readonly kind: JobKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Number of its pods when it runs. */
  readonly pods: number;
  /** Labels of its pods. */
  readonly selector: string;
}

/** Parameters of a job of any kind for the client of custom objects. */
export function placeOf({ kind, namespace, name }: Pick<RunningJob, 'kind' | 'namespace' | 'name'>) {
  const { group, version, plural } = jobKinds[kind];
  return { group, version, plural, namespace, name };
}

export async function createJob(api: Api, manifest: JobManifest | GroupManifest): Promise<RunningJob> {
  const kind = jobKindOf(manifest);
  if (kind === undefined) throw new Error(`${manifest.kind} of ${manifest.apiVersion} is no kind of job`);
  const name = manifest.metadata?.name ?? '';
  const namespace = manifest.metadata?.namespace ?? 'default';
  const created = (await api.custom.createNamespacedCustomObject({
    ...placeOf({ kind, namespace, name }),
    body: manifest,
  })) as { metadata: { uid: string } };
  const { uid } = created.metadata;
  const job = { kind, namespace, name, uid };
  return { ...job, pods: sizeOf(job, manifest as KubernetesObject), selector: jobKinds[kind].podSelector(job) };
}

/** The job object, with a spec of any kind. */
export interface TestJobObject {
  readonly metadata: {
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly suspend?: boolean; readonly runPolicy?: { readonly suspend?: boolean } };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
  };
}

export const readJob = async (api: Api, job: RunningJob): Promise<TestJobObject> =>
  (await api.custom.getNamespacedCustomObject(placeOf(job))) as TestJobObject;

export const changeJob = (api: Api, job: RunningJob, body: object): Promise<unknown> =>
  api.custom.patchNamespacedCustomObject({ ...placeOf(job), body }, merge);

/** The type of the condition that ended it, as its controller names it. */
export const endOf = ({ status }: TestJobObject): string | undefined =>
  status?.conditions?.find((each) => ['Succeeded', 'Complete', 'Failed'].includes(each.type) && each.status === 'True')
    ?.type;

/** Its desired number of pods. */
export const sizeOf = ({ kind }: Pick<RunningJob, 'kind'>, object: KubernetesObject): number =>
  jobKinds[kind].roles(object).reduce((sum, { replicas }) => sum + replicas, 0);

/** Its pods by name, including those of earlier attempts that still exist. */
export async function podsOf(api: Api, job: RunningJob): Promise<V1Pod[]> {
  const { items } = await api.core.listNamespacedPod({ namespace: job.namespace, labelSelector: job.selector });
  const { owns } = jobKinds[job.kind];
  const own = items.filter(
    (pod) => owns?.(job, pod) ?? pod.metadata?.ownerReferences?.some(({ uid }) => uid === job.uid),
  );
  return own.toSorted((a, b) => (a.metadata?.name ?? '').localeCompare(b.metadata?.name ?? ''));
}

/** Waits until all pods of the job are ready (none of them in `except`, by UID), and returns them. */
export function awaitRunning(
  api: Api,
  job: RunningJob,
  options: { readonly withinMs?: number; readonly except?: ReadonlySet<string> } = {},
): Promise<V1Pod[]> {
  return until(`${job.kind} ${job.namespace}/${job.name} running`, options.withinMs ?? 60_000, async () => {
    const pods = await podsOf(api, job);
    const ready = pods.filter((pod) => isRunning(pod) && !options.except?.has(pod.metadata?.uid ?? ''));
    return ready.length >= job.pods ? { found: ready } : { missing: `${ready.length} of ${job.pods} pods ready` };
  });
}

/** Ready and not terminating. */
export function isRunning({ metadata, status }: V1Pod): boolean {
  return (
    metadata?.deletionTimestamp === undefined &&
    status?.phase === 'Running' &&
    (status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false)
  );
}
