/** A watch that lists, watches, relists and reconnects until its signal aborts. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kube } from './connection.ts';
import { kubeError } from './errors.ts';
import { Expired, followStream, Interrupted, listAll } from './watch-stream.ts';

export type WatchEvent<T> = { readonly type: 'added' | 'modified' | 'deleted'; readonly object: T };

export interface WatchOptions<T> {
  readonly kube: Kube;
  /** `/api/v1/pods`, `/apis/kubeflow.org/v1/pytorchjobs`. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Reduces an object to what is kept and reported; the default keeps all. A deleted object may be reported whole. */
  readonly trim?: (object: T) => T;
  /** Called in the order of the server. Errors that it throws are discarded, so the caller must handle them. */
  readonly onEvent: (event: WatchEvent<T>) => void;
  /** `broken` once per outage, `watching` when it is over. */
  readonly onState?: (state: 'watching' | 'broken', because?: string) => void;
  readonly signal: AbortSignal;
}

/** The last known state of every object. Times are text, whatever their type says. */
export interface Watched<T> {
  /** Resolves when the first list was reported as `added`; rejects when the signal aborts first. */
  readonly synced: Promise<void>;
  objects(): readonly T[];
  get(namespace: string | undefined, name: string): T | undefined;
}

/** A missing resource (no such CRD) counts as an empty list, which is requested again after this time. */
const absentMs = 30_000;

/** Starts at once and runs until the signal aborts. */
export function watchResource<T extends KubernetesObject>(options: WatchOptions<T>): Watched<T> {
  const known = new Map<string, T>();
  const first = Promise.withResolvers<void>();
  first.promise.catch(() => undefined);
  keepWatching(options, known, first.resolve).catch(first.reject);
  return {
    synced: first.promise,
    objects: () => [...known.values()],
    get: (namespace, name) => known.get(`${namespace ?? ''}/${name}`),
  };
}

async function keepWatching<T extends KubernetesObject>(
  options: WatchOptions<T>,
  known: Map<string, T>,
  synced: () => void,
): Promise<never> {
  const { signal, onEvent } = options;
  const report = stateReporter(options);
  let position: string | undefined;
  let failures = 0;
  for (;;) {
    signal.throwIfAborted();
    const beganAt = performance.now();
    try {
      if (position === undefined) {
        const list = await listAll<T>(options);
        replace(known, list?.items ?? [], onEvent);
        synced();
        if (!list) {
          report('watching');
          await sleep(absentMs, undefined, { signal, ref: false });
          continue;
        }
        position = list.position;
      }
      position = await followStream<T>(options, position, {
        opened: () => report('watching'),
        changed: (object) => put(known, object, onEvent),
        deleted: (object) => remove(known, object, onEvent),
      });
    } catch (error) {
      signal.throwIfAborted();
      position = error instanceof Interrupted ? error.position : undefined;
      const cause = error instanceof Interrupted ? error.cause : error;
      if (cause !== undefined && !(cause instanceof Expired))
        report('broken', kubeError(cause, `watch ${options.path}`).because);
    }
    // A stream that lasted resets the back-off; without one, a server that ends every stream at once would be called in a tight loop.
    failures = performance.now() - beganAt > 5000 ? 0 : failures + 1;
    if (failures > 0) await sleep(pause(failures), undefined, { signal, ref: false });
  }
}

/** 100 ms to 10 s, doubled each time, with jitter so that not all clients reconnect to a restarted API server at once. */
const pause = (failures: number): number =>
  Math.min(10_000, 100 * 2 ** Math.min(failures - 1, 10)) * (0.5 + Math.random() / 2);

function stateReporter<T>(options: WatchOptions<T>): (state: 'watching' | 'broken', because?: string) => void {
  let reported: 'watching' | 'broken' | undefined;
  return (state, because) => {
    if (state === reported) return;
    reported = state;
    guarded(() => options.onState?.(state, because));
  };
}

/** A listener's defect must not stop the watch. The caller logs its errors; there is no logger here. */
function guarded(call: () => void): void {
  try {
    call();
  } catch {
    // see above
  }
}

const keyOf = (object: KubernetesObject): string =>
  `${object.metadata?.namespace ?? ''}/${object.metadata?.name ?? ''}`;

/** Reports the difference between the known state and a list. */
function replace<T extends KubernetesObject>(
  known: Map<string, T>,
  items: readonly T[],
  onEvent: (event: WatchEvent<T>) => void,
): void {
  const present = new Set(items.map(keyOf));
  for (const [key, object] of known) if (!present.has(key)) remove(known, object, onEvent);
  for (const item of items) put(known, item, onEvent);
}

function put<T extends KubernetesObject>(
  known: Map<string, T>,
  object: T,
  onEvent: (event: WatchEvent<T>) => void,
): void {
  const key = keyOf(object);
  let before = known.get(key);
  if (before && before.metadata?.uid !== object.metadata?.uid) {
    remove(known, before, onEvent);
    before = undefined;
  }
  if (
    before?.metadata?.resourceVersion !== undefined &&
    before.metadata.resourceVersion === object.metadata?.resourceVersion
  )
    return;
  known.set(key, object);
  guarded(() => onEvent({ type: before ? 'modified' : 'added', object }));
}

function remove<T extends KubernetesObject>(
  known: Map<string, T>,
  object: T,
  onEvent: (event: WatchEvent<T>) => void,
): void {
  if (known.delete(keyOf(object))) guarded(() => onEvent({ type: 'deleted', object }));
}
