import { describe, expect, it } from '@jest/globals';
import { waitAfter } from '../../../agent/upload/back-off.ts';

const refused = { reason: 'temporal-unreachable' } as const;
const seeking = { reason: 'not-leading' } as const;

describe('the back-off of the agent', () => {
  it('begins at 200 ms, doubles, and stays at 5 s', () => {
    expect([1, 2, 3, 6, 7, 1000].map((failures) => waitAfter(refused, failures, 1))).toEqual([
      400, 800, 1600, 5000, 5000, 5000,
    ]);
    expect([1, 2, 1000].map((failures) => waitAfter(refused, failures, 0))).toEqual([200, 400, 2500]);
  });

  it('stays at 2 s while it seeks the leader', () => {
    expect([3, 4, 1000].map((failures) => waitAfter(seeking, failures, 1))).toEqual([1600, 2000, 2000]);
  });

  it('is as long as the controller asks for, and somewhat longer by chance', () => {
    const busy = { reason: 'too-many', retryAfterMs: 7000 } as const;
    expect([0, 1].map((chance) => waitAfter(busy, 1, chance))).toEqual([7000, 10_500]);
    expect(waitAfter({ ...busy, retryAfterMs: 1000 }, 1000, 0)).toBe(2500);
  });
});
