import { describe, expect, it } from '@jest/globals';
import { backOff } from '../../agent/back-off.ts';

describe('the back-off of the reporter', () => {
  it('begins at 200 ms, doubles, and stays at 5 s', () => {
    expect([1, 2, 3, 6, 7, 1000].map((failures) => backOff(failures, 1))).toEqual([400, 800, 1600, 5000, 5000, 5000]);
    expect([1, 2, 1000].map((failures) => backOff(failures, 0))).toEqual([200, 400, 2500]);
  });
});
