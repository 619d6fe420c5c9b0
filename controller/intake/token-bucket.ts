/** Token buckets by key: a rate limit that allows bursts. */

import { openRecent } from '../recent.ts';

export interface Rate {
  readonly perSecond: number;
  /** How many may be taken at once after a pause. */
  readonly burst: number;
}

export interface Buckets {
  /** False when there is none left. */
  take(key: string): boolean;
  /** Returns one that was not used. */
  give(key: string): void;
  /** Time until one is available, ms; 0 when one is. */
  waitMs(key: string): number;
}

/** `now`: monotonic, ms. With more keys than `capacity`, the least recently used are forgotten, and so full again. */
export function openBuckets({ perSecond, burst }: Rate, now: () => number, capacity = 20_000): Buckets {
  const levels = openRecent<{ readonly left: number; readonly at: number }>(capacity);

  function leftOf(key: string): number {
    const level = levels.get(key);
    return level ? Math.min(burst, level.left + ((now() - level.at) / 1000) * perSecond) : burst;
  }

  function take(key: string): boolean {
    const left = leftOf(key);
    if (left < 1) return false;
    levels.put(key, { left: left - 1, at: now() });
    return true;
  }

  return {
    take,
    give: (key) => levels.put(key, { left: Math.min(burst, leftOf(key) + 1), at: now() }),
    waitMs: (key) => Math.max(0, ((1 - leftOf(key)) / perSecond) * 1000),
  };
}
