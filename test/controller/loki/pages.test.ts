import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { LokiLine } from '../../../controller/loki/answer.ts';
import { type Ask, mostLines, pagesOf } from '../../../controller/loki/pages.ts';

const lineAt = (at: number, index: number): LokiLine => ({ at: BigInt(at), text: `line ${index}`, labels: {} });

/** As Loki answers: the first `limit` lines from `start`, without `end`. `most`: lines of an answer that is not too large. */
const askOf =
  (lines: readonly LokiLine[], most = Infinity, asked: number[] = []): Ask =>
  ({ start, end, limit }) => {
    asked.push(limit);
    const found = lines.filter(({ at }) => start <= at && at < end).slice(0, limit);
    return Promise.resolve(found.length > most ? 'too-large' : found);
  };

async function read(ask: Ask, end: number, limit: number) {
  const pages = [];
  for await (const page of pagesOf(ask, 0n, BigInt(end), limit)) pages.push(page);
  return pages;
}

const some = fc
  .array(fc.nat(12), { maxLength: 60 })
  .map((times) => times.toSorted((a, b) => a - b).map((at, index) => lineAt(at, index)));

describe('reading page by page', () => {
  it('gives every line, whatever the size of a page and however many lines have one time', () =>
    fc.assert(
      fc.asyncProperty(some, fc.integer({ min: 1, max: 9 }), async (lines, limit) => {
        const pages = await read(askOf(lines), 13, limit);
        const texts = pages.flatMap((page) => page.lines.map(({ text }) => text));
        expect([...new Set(texts)]).toEqual(lines.map(({ text }) => text));
        expect(pages.some(({ cut }) => cut)).toBe(false);
      }),
    ));

  it('never says that it has read lines which come later', () =>
    fc.assert(
      fc.asyncProperty(some, fc.integer({ min: 1, max: 9 }), async (lines, limit) => {
        const seen = new Set<string>();
        for (const page of await read(askOf(lines), 13, limit)) {
          for (const { text } of page.lines) seen.add(text);
          const missing = lines.filter(({ at, text }) => at < page.through && !seen.has(text));
          expect(missing).toEqual([]);
        }
      }),
    ));

  it('asks for less while answers are too large, and for more again afterwards', async () => {
    const lines = Array.from({ length: 40 }, (_, index) => lineAt(index, index));
    const asked: number[] = [];
    const pages = await read(askOf(lines, 6, asked), 40, 20);
    expect(new Set(pages.flatMap((page) => page.lines)).size).toBe(40);
    expect(asked.slice(0, 4)).toEqual([20, 10, 5, 20]);
  });

  it('leaves out what one instant has beyond the largest answer, says so, and reads on', async () => {
    const lines = [...Array.from({ length: mostLines + 3 }, (_, index) => lineAt(1, index)), lineAt(2, -1)];
    const pages = await read(askOf(lines), 3, 1000);
    expect(pages.filter(({ cut }) => cut)).toMatchObject([{ through: 2n }]);
    expect(pages.at(-1)).toMatchObject({ through: 3n, lines: [{ text: 'line -1' }] });
  });

  it('comes to an end with one instant that is too large as well', () =>
    fc.assert(
      fc.asyncProperty(
        some,
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 5 }),
        async (lines, limit, most) => {
          const pages = await read(askOf(lines, most), 13, limit);
          expect(pages.at(-1)?.through).toBe(13n);
        },
      ),
    ));

  it('fails for a single line that is too large', async () => {
    await expect(read(askOf([lineAt(1, 1)], 0), 3, 1000)).rejects.toThrow('larger than an answer may be');
  });
});
