import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { advance, beginAt, formatCursor, mostSent, parseCursor } from '../../../controller/loki/cursor.ts';

const faults = (count: number, at: (index: number) => bigint) =>
  Array.from({ length: count }, (_, index) => [`kernel/loki/${index}`, at(index)] as const);

describe('the position in Loki', () => {
  it('stays so far back that lines may arrive late, and never before the beginning', () => {
    expect(advance(beginAt(100n), 120n, [], 50n).from).toBe(100n);
    expect(advance(beginAt(100n), 190n, [], 50n).from).toBe(140n);
  });

  it('never goes back when the clock does', () => {
    expect(advance(beginAt(100n), 40n, [], 50n).from).toBe(100n);
  });

  it('knows the faults of the lines that are read again, and no others', () => {
    const cursor = advance(
      beginAt(0n),
      100n,
      [
        ['a', 10n],
        ['b', 60n],
      ],
      50n,
    );
    expect([...cursor.sent]).toEqual([['b', 60n]]);
  });

  it('goes back less far in a flood, rather than read a fault again that it has forgotten', () => {
    const cursor = advance(beginAt(0n), 10_000n, faults(mostSent + 5, BigInt), 10_000n);
    expect([cursor.sent.size, cursor.from]).toEqual([mostSent, 5n]);
  });

  it('forgets no fault of the instant that is not read to its end', () => {
    const cursor = advance(
      beginAt(0n),
      7n,
      faults(mostSent + 5, () => 7n),
      5n,
    );
    expect([cursor.sent.size, cursor.from]).toEqual([mostSent + 5, 2n]);
  });

  it('knows every fault of a time that is read again, after any pages', () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2000), fc.nat(900)), { maxLength: 6 }), fc.nat(500), (pages, overlap) => {
        let cursor = beginAt(0n);
        const all: (readonly [string, bigint])[] = [];
        let through = 0;
        for (const [step, count] of pages) {
          const page = faults(count, (index) => BigInt(through + (index % (step + 1)))).map(
            ([id, at]) => [`${id} ${through}`, at] as const,
          );
          all.push(...page);
          through += step;
          cursor = advance(cursor, BigInt(through), page, BigInt(overlap));
        }
        expect(all.filter(([id, at]) => at >= cursor.from && !cursor.sent.has(id))).toEqual([]);
      }),
    ));

  it('is the same after it was stored', () =>
    fc.assert(
      fc.property(fc.bigInt(0n, 9n ** 19n), fc.array(fc.tuple(fc.string(), fc.bigInt(0n, 9n ** 18n))), (from, sent) => {
        const cursor = { from, sent: new Map(sent) };
        expect(parseCursor(formatCursor(cursor))).toEqual(cursor);
      }),
    ));

  it.each([
    '',
    '{}',
    '[]',
    'null',
    '{"from":1,"sent":{}}',
    '{"from":"-1","sent":{}}',
    '{"from":"1","sent":[]}',
    '{"from":"1","sent":{"a":1}}',
  ])('is none when a person wrote %s', (text) => expect(parseCursor(text)).toBeUndefined());
});
