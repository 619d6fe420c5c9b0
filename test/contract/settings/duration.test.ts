import { describe, expect, it } from '@jest/globals';
import { formatDuration, parseDuration } from '../../../contract/settings/duration.ts';

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5h', 5_400_000],
    ['7d', 604_800_000],
    ['1h30m', 5_400_000],
    ['1m1.5s', 61_500],
  ])('reads %s', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(['', '10', 'ten minutes', '5 m', '1h 30m', '-3s'])('does not take %j for a duration', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  );

  it.each([
    [340, '340ms'],
    [4200, '4.2s'],
    [65_000, '1m 5s'],
    [3_900_000, '1h 5m'],
    [93_784_000, '1d 2h'],
  ])('prints %d ms as %s', (ms, text) => expect(formatDuration(ms)).toBe(text));
});
