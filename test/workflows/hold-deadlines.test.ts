import { describe, expect, it } from '@jest/globals';
import { HoldDeadlines } from '../../workflows/recovery/hold-deadlines.ts';

describe('reasons to hold', () => {
  it('each have their own time, which others do not use up', () => {
    const holds = new HoldDeadlines();
    expect(holds.begin('held', 1000)).toEqual({ isFirst: true, since: 1000 });
    expect(holds.begin('held', 3000)).toEqual({ isFirst: false, since: 1000 });
    expect(holds.begin('paused', 4000)).toEqual({ isFirst: true, since: 4000 });
    expect(holds.begin('held', 10_000)).toEqual({ isFirst: false, since: 7000 });
    expect(holds.begin('paused', 12_000)).toEqual({ isFirst: false, since: 6000 });
    expect([holds.times, holds.msOf('held', 12_000), holds.msOf('held', 20_000), holds.msOf('unobservable', 20_000)]).toEqual([5, 5000, 5000, undefined]);
  });

  it('end together, and begin anew', () => {
    const holds = new HoldDeadlines();
    holds.begin('held', 1000);
    holds.begin('paused', 4000);
    expect([holds.end(9000), holds.end(9500), holds.times]).toEqual([8000, 0, 0]);
    expect(holds.begin('held', 20_000)).toEqual({ isFirst: true, since: 20_000 });
  });
});
