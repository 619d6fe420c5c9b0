import { describe, expect, it } from '@jest/globals';
import { createBatcher, coalesce } from '../../activities/batcher.ts';

describe('a batcher', () => {
  it('has one call under way and puts what arrives meanwhile into the next', async () => {
    const calls: (readonly number[])[] = [];
    const gates: (() => void)[] = [];
    let underWay = 0;
    let most = 0;
    const double = createBatcher<number, number>(async (items) => {
      calls.push(items);
      most = Math.max(most, ++underWay);
      await new Promise<void>((resolve) => gates.push(resolve));
      underWay -= 1;
      return items.map((item) => item * 2);
    });

    const first = double(1);
    await turn();
    const later = [double(2), double(3), double(4)];
    await turn();
    expect(calls).toEqual([[1]]);
    gates.shift()?.();
    expect(await first).toBe(2);
    await turn();
    expect(calls).toEqual([[1], [2, 3, 4]]);
    gates.shift()?.();
    expect(await Promise.all(later)).toEqual([4, 6, 8]);
    expect(most).toBe(1);
  });

  it('continues after a failed call, and fails only the requests in it', async () => {
    let fail = true;
    const ask = createBatcher<string, string>(async (items) => {
      if (fail) throw new Error('no answer');
      return items;
    });
    await expect(ask('a')).rejects.toThrow('no answer');
    fail = false;
    expect(await ask('b')).toBe('b');
  });

  it('never sends more than a hundred together', async () => {
    const sizes: number[] = [];
    const ask = createBatcher<number, number>(async (items) => {
      sizes.push(items.length);
      return items;
    });
    const items = Array.from({ length: 250 }, (_, index) => index);
    expect(await Promise.all(items.map(ask))).toEqual(items);
    expect(sizes).toEqual([100, 100, 50]);
  });

  it('shares a read among all requests that arrive while another is under way, and returns no answer that is older than its request', async () => {
    let reads = 0;
    const gates: (() => void)[] = [];
    const look = coalesce(async () => {
      const number = ++reads;
      await new Promise<void>((resolve) => gates.push(resolve));
      return number;
    });
    const first = look();
    await turn();
    const later = [look(), look(), look()];
    gates.shift()?.();
    expect(await first).toBe(1);
    await turn();
    gates.shift()?.();
    expect(await Promise.all(later)).toEqual([2, 2, 2]);
  });
});

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
