/** Reads all lines between two times, page by page, as logcli does: the next page begins at the last time of this one. */

import type { LokiLine } from './answer.ts';

export interface Range {
  readonly start: bigint;
  /** Not included. */
  readonly end: bigint;
  readonly limit: number;
}

/** `too-large`: the answer is beyond what is read. */
export type Ask = (range: Range) => Promise<readonly LokiLine[] | 'too-large'>;

export interface Page {
  /** Lines at the last time of a page come again with the next one. */
  readonly lines: readonly LokiLine[];
  /** All lines from before it were read. */
  readonly through: bigint;
  /** There were more lines of one instant than one answer has, and the others were left out. */
  readonly cut?: true;
}

/** What Loki allows by default in one answer (`max_entries_limit_per_query`). */
export const mostLines = 5000;

/** A page of one single instant is read again with a higher limit, one that is too large with a lower limit. Throws what `ask` throws. */
export async function* pagesOf(ask: Ask, start: bigint, end: bigint, usual: number): AsyncGenerator<Page> {
  let [from, limit, most] = [start, usual, mostLines];
  while (from < end) {
    const lines = await ask({ start: from, end, limit });
    if (lines === 'too-large') {
      if (limit === 1) throw new Error('a single line is larger than an answer may be');
      most = limit - 1;
      limit = Math.max(1, Math.floor(limit / 2));
      continue;
    }
    const last = lines.at(-1)?.at;
    if (lines.length < limit || last === undefined) return yield { lines, through: end };
    if (last > from) {
      yield { lines, through: last };
      [from, limit, most] = [last, usual, mostLines];
    } else if (limit < most) {
      limit = Math.min(most, limit * 2);
    } else {
      yield { lines, through: from + 1n, cut: true };
      [from, limit, most] = [from + 1n, usual, mostLines];
    }
  }
}
