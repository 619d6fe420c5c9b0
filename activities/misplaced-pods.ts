/** Pods of a new attempt that landed on a quarantined node all the same: a scheduler that does not see the taint yet may do that again and again. */

import type { AttemptPod } from '../contract/jobs.ts';

export interface MisplacedOptions {
  /** UIDs that earlier tries of the activity have moved. */
  readonly known: Iterable<string>;
  /** Asks one pod to go, by UID. */
  readonly remove: (pod: AttemptPod) => Promise<unknown>;
  readonly pause: (ms: number) => Promise<unknown>;
}

export interface MisplacedPods {
  /** UIDs of all that were asked to go, for the record and for a later try. */
  readonly moved: ReadonlySet<string>;
  /**
   * Asks each to go, once in this try, or again where the request failed. A later try asks again: whoever calls sees only pods that nobody
   * has asked to go, so an earlier request did not arrive. Throws what `remove` throws.
   */
  move(pods: readonly AttemptPod[]): Promise<void>;
}

/** Between two of them, ms; doubles. */
const pauses = { first: 200, most: 10_000 } as const;

export function misplacedPods({ known, remove, pause }: MisplacedOptions): MisplacedPods {
  const moved = new Set(known);
  const asked = new Set<string>();
  return {
    moved,
    async move(pods) {
      const fresh = pods.filter(({ uid }) => !asked.has(uid));
      if (fresh.length > 0 && asked.size > 0) await pause(Math.min(pauses.most, pauses.first * 2 ** (asked.size - 1)));
      for (const pod of fresh) {
        moved.add(pod.uid);
        await remove(pod);
        asked.add(pod.uid);
      }
    },
  };
}
