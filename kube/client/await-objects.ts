/** Waits for a state of watched objects. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { AsyncEvent } from '../../contract/async-event.ts';
import type { Kube } from './connection.ts';
import type { ObservationClock } from './observation-clock.ts';
import { watchResource, type WatchOptions } from './watch.ts';

export interface ObjectWait {
  readonly kube: Kube;
  readonly clock: ObservationClock;
  /** Deadline, ms since the epoch, by that clock. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

export type WatchedObjects = Pick<WatchOptions<KubernetesObject>, 'path' | 'labelSelector' | 'fieldSelector' | 'trim'>;

/** Observe at least this often, ms: state outside the watches may have changed. */
export const lookEveryMs = 30_000;

/** How long to wait for a change, ms. Avoids a tight loop while the clock is stopped. */
export const waitFor = ({ clock }: Pick<ObjectWait, 'clock'>, until: number): number =>
  Math.min(lookEveryMs, Math.max(until - clock.time(), clock.isRunning ? 0 : 1000));

/** Whether the promise has settled; sets the event when it does. */
export function notifyWhen(happening: Promise<unknown>, changed: AsyncEvent): { readonly is: boolean } {
  const seen = { is: false };
  happening.then(
    () => {
      seen.is = true;
      changed.notify();
    },
    () => undefined,
  );
  return seen;
}

/**
 * Calls `look` with the objects of every watch, once all are listed, after every change and at least every `everyMs`, until it answers; undefined
 * at the deadline, which does not pass while a watch is broken.
 */
export async function awaitObjects<T>(
  wait: ObjectWait,
  watched: readonly WatchedObjects[],
  look: (...objects: readonly (readonly KubernetesObject[])[]) => T | undefined | Promise<T | undefined>,
  everyMs = lookEveryMs,
): Promise<T | undefined> {
  const { kube, clock, deadline } = wait;
  const closing = new AbortController();
  const signal = AbortSignal.any([wait.signal, closing.signal]);
  const changed = new AsyncEvent();
  const open = new Set<WatchedObjects>();
  const watches = watched.map((each) =>
    watchResource<KubernetesObject>({
      ...each,
      kube,
      signal,
      onEvent: () => changed.notify(),
      onState(state) {
        if (state === 'watching') open.add(each);
        else open.delete(each);
        if (open.size === watched.length) clock.regained();
        else clock.lost();
        changed.notify();
      },
    }),
  );
  try {
    const listed = notifyWhen(Promise.all(watches.map(({ synced }) => synced)), changed);
    for (;;) {
      wait.signal.throwIfAborted();
      const found = listed.is ? await look(...watches.map((each) => each.objects())) : undefined;
      if (found !== undefined) return found;
      const late = Math.max(deadline, clock.lateFrom);
      if (clock.time() >= late) return undefined;
      await changed.wait(Math.min(everyMs, waitFor(wait, late)), wait.signal);
    }
  } finally {
    closing.abort();
  }
}
