/** Pods of a new attempt on a quarantined node: a scheduler that does not see the taint yet may place them there again and again. */

import type { AttemptPod } from '../../contract/job/jobs.ts';

export interface MisplacedOptions {
  /** UIDs of pods that earlier tries of the activity have moved. */
  readonly known: Iterable<string>;
  /** Deletes one pod, by UID. */
  readonly remove: (pod: AttemptPod) => Promise<unknown>;
  readonly pause: (ms: number) => Promise<unknown>;
}

export interface MisplacedPods {
  /** UIDs of all pods that were deleted, for the record and for a later try. */
  readonly moved: ReadonlySet<string>;
  /**
   * Deletes each once in this try, and again where the request failed. A later try deletes again: callers pass only pods that are not
   * terminating, so an earlier request did not arrive. Throws what `remove` throws.
   */
  move(pods: readonly AttemptPod[]): Promise<void>;
}

/** Pauses between them, ms, doubling. */
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
