import { describe, expect, it } from '@jest/globals';
import { howManyFit, signalBytes } from '../../../contract/wire/signal-size.ts';

describe('the size of one signal', () => {
  it.each<[string, readonly unknown[], number]>([
    ['nothing of nothing', [], 0],
    ['as many as were asked for', Array.from({ length: 200 }, () => 'x'), 100],
    ['as many as fit', Array.from({ length: 100 }, () => '\u20AC'.repeat(10_000)), 8],
    ['one that is too large, for it would never go otherwise', ['x'.repeat(signalBytes), 'y'], 1],
  ])('is %s', (_what, items, expected) => {
    expect(howManyFit(items, 100)).toBe(expected);
  });
});
