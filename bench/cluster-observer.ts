/** Watches the cluster from outside, and records when something was seen. */

import type { V1Node, V1Pod } from '@kubernetes/client-node';
import type { Kube } from '../kube/client/connection.ts';
import { watchResource, type Watched, type WatchEvent } from '../kube/client/watch.ts';
import type { RunningJob } from '../testbed/jobs.ts';
import { now, within } from './clock.ts';

const deadlineMs = 300_000;

/** When each step was seen. Times in ms since the epoch. */
export interface ObservedRestart {
  readonly firstDeleted: Promise<number>;
  readonly oldGone: Promise<number>;
  readonly newRunning: Promise<number>;
}

export class ClusterObserver {
  readonly #pods: Watched<V1Pod>;
  readonly #nodes: Watched<V1Node>;
  readonly #onPod = new Set<(event: WatchEvent<V1Pod>) => void>();
  readonly #onNode = new Set<() => void>();
  readonly ready: Promise<unknown>;

  constructor(kube: Kube, namespace: string, signal: AbortSignal) {
    this.#pods = watchResource<V1Pod>({
      kube,
      signal,
      path: `/api/v1/namespaces/${namespace}/pods`,
      onEvent: (event) => this.#onPod.forEach((each) => each(event)),
    });
    this.#nodes = watchResource<V1Node>({
      kube,
      signal,
      path: '/api/v1/nodes',
      onEvent: () => this.#onNode.forEach((each) => each()),
    });
    this.ready = Promise.all([this.#pods.synced, this.#nodes.synced]);
  }

  /** Call it before the attempt is stopped; `old` are the UIDs of its pods. */
  restartOf(job: RunningJob, old: ReadonlySet<string>): ObservedRestart {
    const [firstDeleted, oldGone, newRunning] = [
      Promise.withResolvers<number>(),
      Promise.withResolvers<number>(),
      Promise.withResolvers<number>(),
    ];
    const left = new Set(old);
    const running = new Set<string>();
    const look = ({ type, object }: WatchEvent<V1Pod>): void => {
      const uid = object.metadata?.uid ?? '';
      if (!isOf(job, object)) return;
      if (old.has(uid)) {
        if (type === 'deleted') left.delete(uid);
        if (type === 'deleted' || object.metadata?.deletionTimestamp !== undefined) firstDeleted.resolve(now());
        if (left.size === 0) oldGone.resolve(now());
        return;
      }
      if (type !== 'deleted' && isReady(object)) running.add(uid);
      else running.delete(uid);
      if (running.size >= job.pods) newRunning.resolve(now());
    };
    this.#onPod.add(look);
    const forget = () => this.#onPod.delete(look);
    newRunning.promise.then(forget, forget);
    const waited = (what: string, promise: Promise<number>): Promise<number> => {
      const timed = within(deadlineMs, `${job.name}: ${what}`, promise);
      timed.catch(() => undefined); // the awaiting code gets the rejection
      return timed;
    };
    return {
      firstDeleted: waited('a pod being deleted', firstDeleted.promise),
      oldGone: waited('the old pods gone', oldGone.promise),
      newRunning: waited(`${job.pods} new pods running`, newRunning.promise),
    };
  }

  /** When the node was first seen with (or without) a taint of this key. */
  tainted(node: string, key: string, present = true): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    const look = (): void => {
      const taints = this.#nodes.get(undefined, node)?.spec?.taints ?? [];
      if (taints.some((taint) => taint.key === key) === present) resolve(now());
    };
    this.#onNode.add(look);
    look();
    return within(deadlineMs, `${node} ${present ? 'with' : 'without'} ${key}`, promise).finally(() =>
      this.#onNode.delete(look),
    );
  }

  podsOf(job: RunningJob): V1Pod[] {
    return this.#pods.objects().filter((pod) => isOf(job, pod));
  }
}

const isOf = (job: RunningJob, { metadata }: V1Pod): boolean =>
  metadata?.ownerReferences?.some(({ uid }) => uid === job.uid) ?? false;

const isReady = ({ metadata, status }: V1Pod): boolean =>
  metadata?.deletionTimestamp === undefined &&
  status?.phase === 'Running' &&
  (status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false);
