import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { retryAfterMs } from '../../contract/retry-after.ts';

const most = 60_000;
const date = 'Mon, 23 Nov 2026 12:00:00 GMT';

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['7', 7000],
    ['600', most],
    ['Mon, 23 Nov 2026 12:00:07 GMT', 7000],
    ['Tue, 24 Nov 2026 12:00:00 GMT', most],
    ['Mon, 23 Nov 2026 11:00:00 GMT', 0],
  ])('%s is understood, up to the longest wait', (value, ms) => {
    expect(retryAfterMs({ value, date }, most)).toBe(ms);
  });

  it.each([undefined, null, '', '-1', '1.5', '1e3', ' 5', '9999999999', '2026-11-23', 'Mon, 99 Xyz 2026 12:00:07 GMT'])(
    '%p says nothing',
    (value) => {
      expect(retryAfterMs({ value, date }, most)).toBeUndefined();
    },
  );

  it('does not compare a date with our own clock', () => {
    expect(retryAfterMs({ value: date }, most)).toBeUndefined();
  });

  it('never asks for less than nothing, or for more than the longest wait', () => {
    const text = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((at) => at.toUTCString()),
    );
    fc.assert(
      fc.property(text, text, (value, sent) => {
        const wait = retryAfterMs({ value, date: sent }, most) ?? 0;
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(most);
      }),
    );
  });
});
