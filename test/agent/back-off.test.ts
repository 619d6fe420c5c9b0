import { describe, expect, it } from '@jest/globals';
import { backOff, longestWait } from '../../agent/back-off.ts';

describe('the back-off of the reporter', () => {
  it('begins at 200 ms, doubles, and stays at 5 s', () => {
    expect([1, 2, 3, 6, 7, 1000].map((failures) => backOff(failures, 1, longestWait.refused))).toEqual([400, 800, 1600, 5000, 5000, 5000]);
    expect([1, 2, 1000].map((failures) => backOff(failures, 0, longestWait.refused))).toEqual([200, 400, 2500]);
  });

  it('stays at 2 s while it seeks the leader', () => {
    expect([3, 4, 1000].map((failures) => backOff(failures, 1, longestWait.seeking))).toEqual([1600, 2000, 2000]);
  });
});
