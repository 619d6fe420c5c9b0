import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { limitedTo } from '../../../kube/client/parallel.ts';

describe('calls that are limited to a few at once', () => {
  it('run in their order, never more of them, and a failure makes way for the next', async () => {
    const limited = limitedTo(3);
    let running = 0;
    const [begun, counts]: [number[], number[]] = [[], []];
    const call = (index: number) =>
      limited(async () => {
        begun.push(index);
        counts.push(++running);
        await sleep(index % 4);
        running -= 1;
        if (index % 5 === 0) throw new Error(`${index}`);
        return index;
      });
    const all = Array.from({ length: 20 }, (_, index) => index);
    const ended = await Promise.allSettled(all.map(call));
    expect(begun).toEqual(all);
    expect(Math.max(...counts)).toBe(3);
    expect(ended.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))).toEqual(
      all.filter((index) => index % 5 !== 0),
    );
    expect(await call(1)).toBe(1);
  });
});
