/** Files without a final answer, and when each is sent again: soon at first, because its container is about to end. */

import type { RankFile } from '../files/rank-files.ts';

const firstMs = 500;
const longestMs = 30_000;

export interface RetrySchedule {
  readonly count: number;
  isDue(file: RankFile): boolean;
  /** Schedules the file to be sent again. Returns how often this content was answered with `wait`. */
  again(file: RankFile): number;
  drop(file: RankFile): void;
  /** Keeps only these files. */
  keep(files: readonly RankFile[]): void;
}

interface RetryTurn {
  readonly version: string;
  readonly tries: number;
  /** Time of the monotonic clock. */
  readonly dueAt: number;
}

export function createWaiting(): RetrySchedule {
  let turns = new Map<string, RetryTurn>();
  const fresh = ({ version }: RankFile): RetryTurn => ({ version, tries: 0, dueAt: 0 });
  /** A rewritten file starts again. */
  const turnOf = (file: RankFile): RetryTurn => {
    const turn = turns.get(file.key);
    return turn?.version === file.version ? turn : fresh(file);
  };

  return {
    get count() {
      return turns.size;
    },
    isDue: (file) => turnOf(file).dueAt <= performance.now(),
    again(file) {
      const tries = turnOf(file).tries + 1;
      const dueAt = performance.now() + Math.min(longestMs, firstMs * 2 ** Math.min(tries - 1, 10));
      turns.set(file.key, { version: file.version, tries, dueAt });
      return tries;
    },
    drop: ({ key }) => void turns.delete(key),
    keep(files) {
      turns = new Map(files.map((file) => [file.key, turnOf(file)]));
    },
  };
}
