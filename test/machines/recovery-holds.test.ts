import { describe, expect, it } from '@jest/globals';
import { beginHold, heldFor, heldInAll, type HoldReason, noHolds } from '../../workflows/recovery/holds.ts';

/** Begins several holds in a row, and shows how the last one began. */
const begin = (...holds: readonly [HoldReason, number][]) => {
  let [all, isFirst, since] = [noHolds, false, 0];
  for (const [reason, at] of holds) ({ holds: all, isFirst, since } = beginHold(all, reason, at));
  return { all, began: { isFirst, since } };
};

describe('reasons to hold', () => {
  it('each have their own time, which others do not use up', () => {
    const holds = [
      ['held', 1000],
      ['held', 3000],
      ['paused', 4000],
      ['held', 10_000],
      ['paused', 12_000],
    ] as const satisfies readonly [HoldReason, number][];
    expect(holds.map((_, index) => begin(...holds.slice(0, index + 1)).began)).toEqual([
      { isFirst: true, since: 1000 },
      { isFirst: false, since: 1000 },
      { isFirst: true, since: 4000 },
      { isFirst: false, since: 7000 },
      { isFirst: false, since: 6000 },
    ]);
    const { all } = begin(...holds);
    expect([
      all.times,
      heldFor(all, 'held', 12_000),
      heldFor(all, 'held', 20_000),
      heldFor(all, 'unobservable', 20_000),
    ]).toEqual([5, 5000, 5000, undefined]);
  });

  it('end together, and begin anew', () => {
    const { all } = begin(['held', 1000], ['paused', 4000]);
    expect([heldInAll(all, 9000), heldInAll(noHolds, 9500), noHolds.times]).toEqual([8000, 0, 0]);
    expect(begin(['held', 20_000]).began).toEqual({ isFirst: true, since: 20_000 });
  });
});
