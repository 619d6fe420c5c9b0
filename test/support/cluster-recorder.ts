/** Records the changes of nodes, pods and jobs that a watch sees, in the single order of etcd. */

import type { KubernetesObject, V1Node, V1Pod } from '@kubernetes/client-node';
import { quarantineTaintKey } from '../../contract/ids.ts';
import { connectKube } from '../../kube/client/connection.ts';
import { jobKinds, watchPath } from '../../kube/jobs/kinds/index.ts';
import { type WatchEvent, watchResource } from '../../kube/client/watch.ts';
import type { DeletedPod, Write } from '../../testbed/audit.ts';
import type { RunningJob } from '../../testbed/jobs.ts';

/** One pod since its creation. Positions in the order of changes are resource versions. */
export interface PodLife {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** UID of the job that controls it. */
  readonly owner: string;
  readonly created: number;
  readonly node?: string;
  readonly ready: boolean;
  /** It failed by itself before any delete: its own controller may replace it. */
  readonly failed: boolean;
  /** Infinity when it went while the watch was interrupted, so that the time is unknown. */
  readonly gone?: number;
}

/** A node had the quarantine taint from one change to another. */
export interface QuarantineSpan {
  readonly node: string;
  readonly from: number;
  readonly to?: number;
}

export interface ClusterRecorder {
  /** Every pod that the job ever had, in the order of creation. */
  podsOf(job: Pick<RunningJob, 'uid'>): readonly PodLife[];
  quarantines(): readonly QuarantineSpan[];
  isQuarantined(node: string): boolean;
  isSuspended(job: Pick<RunningJob, 'uid'>): boolean;
  /** Resolves at the moment at which the condition holds. */
  seen(what: string, withinMs: number, isSo: () => boolean): Promise<void>;
  close(): Promise<void>;
}

const placeOf = (object: KubernetesObject): number => Number(object.metadata?.resourceVersion ?? 0);
const isReady = ({ metadata, status }: V1Pod): boolean =>
  metadata?.deletionTimestamp === undefined &&
  status?.phase === 'Running' &&
  (status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false);

/** Fills in from the deletes those pods whose scheduling or end the watch missed while it was interrupted; a delete request counts as the end. */
export function completed(pods: readonly PodLife[], writes: readonly Write[]): PodLife[] {
  // The first delete: later ones see what happened to the pod after it.
  const byUid = new Map<string, DeletedPod>();
  for (const pod of writes.flatMap(({ deletedPods }) => deletedPods)) if (!byUid.has(pod.uid)) byUid.set(pod.uid, pod);
  return pods.map((life) => {
    const deleted = byUid.get(life.uid);
    if (!deleted) return life;
    const node = life.node ?? deleted.node;
    return {
      ...life,
      failed: life.failed || deleted.failed,
      ...(node && { node }),
      ...(life.gone === Infinity && { gone: deleted.place }),
    };
  });
}

export async function startClusterRecorder(kubeconfig: string): Promise<ClusterRecorder> {
  const kube = connectKube({ kubeconfig });
  const stop = new AbortController();
  const pods = new Map<string, PodLife>();
  const spans: QuarantineSpan[] = [];
  const suspended = new Map<string, boolean>();
  const placed = new Map<string, number>();
  const waiting = new Set<() => void>();
  const openSpan = (node: string): number => spans.findLastIndex((span) => span.node === node && span.to === undefined);

  /** An interrupted watch detects a deletion by comparing with a new list, and then knows only the earlier object. */
  const goneAt = (object: KubernetesObject): number =>
    placeOf(object) > (placed.get(object.metadata?.uid ?? '') ?? 0) ? placeOf(object) : Infinity;

  const onPod = ({ type, object }: WatchEvent<V1Pod>): void => {
    const { metadata, spec } = object;
    const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    if (metadata?.uid === undefined || owner === undefined) return;
    const before = pods.get(metadata.uid);
    const node = spec?.nodeName ?? before?.node;
    const fixed = {
      uid: metadata.uid,
      namespace: metadata.namespace ?? '',
      name: metadata.name ?? '',
      owner,
      created: before?.created ?? placeOf(object),
    };
    const failed =
      before?.failed === true || (metadata.deletionTimestamp === undefined && object.status?.phase === 'Failed');
    pods.set(metadata.uid, {
      ...fixed,
      failed,
      ready: type !== 'deleted' && isReady(object),
      ...(node && { node }),
      ...(type === 'deleted' && { gone: goneAt(object) }),
    });
  };
  const onNode = ({ type, object }: WatchEvent<V1Node>): void => {
    const node = object.metadata?.name ?? '';
    const tainted = type !== 'deleted' && (object.spec?.taints?.some(({ key }) => key === quarantineTaintKey) ?? false);
    const open = openSpan(node);
    if (tainted && open < 0) spans.push({ node, from: placeOf(object) });
    const span = spans[open];
    if (!tainted && span) spans[open] = { ...span, to: placeOf(object) };
  };
  const handle =
    <T extends KubernetesObject>(record: (event: WatchEvent<T>) => void) =>
    (event: WatchEvent<T>): void => {
      record(event);
      placed.set(event.object.metadata?.uid ?? '', placeOf(event.object));
      for (const look of waiting) look();
    };
  const common = { kube, signal: stop.signal };
  const watches = [
    watchResource<V1Pod>({ ...common, path: '/api/v1/pods', onEvent: handle(onPod) }),
    watchResource<V1Node>({ ...common, path: '/api/v1/nodes', onEvent: handle(onNode) }),
    ...Object.values(jobKinds).map((kind) =>
      watchResource({
        ...common,
        path: watchPath(kind),
        onEvent: handle(({ object }: WatchEvent<KubernetesObject>) =>
          suspended.set(object.metadata?.uid ?? '', kind.isSuspended(object)),
        ),
      }),
    ),
  ];
  await Promise.all(watches.map((each) => each.synced));

  return {
    podsOf: ({ uid }) =>
      [...pods.values()].filter(({ owner }) => owner === uid).toSorted((a, b) => a.created - b.created),
    quarantines: () => spans,
    isQuarantined: (node) => openSpan(node) >= 0,
    isSuspended: ({ uid }) => suspended.get(uid) === true,
    seen: (what, withinMs, isSo) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => end(() => reject(new Error(`${what} was not seen within ${withinMs / 1000} s`))),
          withinMs,
        );
        const look = (): void => {
          if (isSo()) end(resolve);
        };
        const end = (how: () => void): void => {
          clearTimeout(timer);
          waiting.delete(look);
          how();
        };
        waiting.add(look);
        look();
      }),
    close: async () => {
      stop.abort();
      await kube.close();
    },
  };
}
