import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { parseHistory } from '../../../contract/node/history.schema.ts';
import type { NodeHistory } from '../../../contract/node/history.ts';
import type { Fault } from '../../../contract/faults/faults.ts';
import { isRepeated, type HistoryEntry, withEntry } from '../../../policy/node/history.ts';
import { judgeFaults } from '../../../policy/node/judge.ts';
import { nodeReplay } from '../../../policy/node/replay.ts';
import { kernelFault, settings } from '../../support/builders.ts';

const begin = Date.parse('2026-11-21T07:00:00Z');
const minute = 60_000;
const act = settings({ mode: 'act' });

const codes = [
  ['xid/13', 'restart-app', 'Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): Out Of Range Address'],
  ['xid/31', 'restart-app', 'MMU Fault'],
  ['xid/45', 'ignore', 'Ch 00000001'],
  ['xid/48', 'reset-gpu', 'DBE'],
  ['xid/74', 'reset-gpu', 'NVLink: fatal error detected on link 4(0x0)'],
  ['xid/79', 'reboot', 'GPU has fallen off the bus'],
  ['xid/154', 'ignore', 'GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)'],
  ['xid/154', 'restart-app', 'GPU recovery action changed from 0x0 (None) to 0x5 (Recover IMEX Domain)'],
] as const;

const aFault = fc
  .record({
    code: fc.constantFrom(...codes),
    device: fc.constantFrom('0000:5d:00', '0000:9b:00'),
    minutes: fc.integer({ min: 0, max: 3000 }),
    sequence: fc.nat(100_000),
  })
  .map(({ code: [code, action, message], device, minutes, sequence }) => {
    const seenAt = new Date(begin + minutes * minute).toISOString();
    const kernel = { bootId: 'boot-1', sequence };
    return kernelFault({ id: `kernel/boot-1/${sequence}`, code, action, message, device, seenAt, kernel });
  });

const stream = fc.uniqueArray(aFault, { maxLength: 30, selector: ({ id }) => id });
const inTime = (faults: readonly Fault[]) =>
  faults.toSorted((a, b) => a.seenAt.localeCompare(b.seenAt) || a.id.localeCompare(b.id));
const now = begin + 4000 * minute;
const shuffled = stream.chain((faults) =>
  fc.tuple(
    fc.constant(faults),
    fc.shuffledSubarray([...faults, ...faults], { minLength: 2 * faults.length, maxLength: 2 * faults.length }),
  ),
);

describe('the history of a node', () => {
  it('is the same whatever the order of what was seen, and however often', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.nat(40 * 30_000).map((at): HistoryEntry => ({ code: 'xid/31', device: 'a', at })),
          { maxLength: 15 },
        ),
        (seen) => {
          const of = (entries: readonly HistoryEntry[]) => entries.reduce<NodeHistory>(withEntry, []);
          expect(of([...seen.toReversed(), ...seen])).toEqual(of(seen));
        },
      ),
    );
  });

  it('is bounded whatever arrives, keeps the newest, and is read back as it was written', () => {
    const many = fc.array(
      fc.record({
        code: fc.constantFrom('xid/1', 'xid/2', 'xid/3', 'xid/4', 'xid/5', 'xid/6'),
        device: fc.constantFrom('a', 'b'),
        at: fc.nat(86_400_000),
      }),
      {
        minLength: 200,
        maxLength: 400,
        size: 'max',
      },
    );
    fc.assert(
      fc.property(many, (seen) => {
        const history = seen.reduce<NodeHistory>(withEntry, []);
        expect(history.length).toBeLessThanOrEqual(64);
        expect(Math.max(...history.map(({ last }) => last))).toBe(Math.max(...seen.map(({ at }) => at)));
        expect(parseHistory(JSON.stringify(history), Infinity)).toEqual(history);
      }),
      { numRuns: 30 },
    );
  });

  it('keeps apart what rules count, though a code returns all day', () => {
    const seen = Array.from({ length: 5000 }, (_, index): HistoryEntry => ({
      code: 'xid/31',
      device: 'a',
      at: index * 16_000,
    }));
    const history = seen.reduce<NodeHistory>(withEntry, []);
    expect(history.length).toBeLessThanOrEqual(16);
    expect(history[0]?.first).toBe(0);
    expect(isRepeated(history, { code: 'xid/31', device: 'a', at: 5000 * 16_000 })).toBe(false);
  });

  it.each([
    ['no JSON', '{'],
    ['no list', '{}'],
    ['another shape', '[{"code":"xid/79"}]'],
    ['an end before the begin', '[{"code":"xid/79","first":2,"last":1}]'],
    ['too long', JSON.stringify(Array.from({ length: 5000 }, () => 'xid/79'))],
  ])('is none where the text is %s', (_name, text) => {
    expect(parseHistory(text, Infinity)).toBeUndefined();
  });

  it('has no burst of the future', () => {
    const at = (last: number) => ({ code: 'xid/79', first: 1, last });
    expect(parseHistory(JSON.stringify([at(5), at(11)]), 10)).toEqual([at(5)]);
  });
});

describe('a history that is full', () => {
  it('drops what a program can cause before the faults of the hardware', () => {
    const hardware = { code: 'xid/94', device: '0000:5d:00', action: 'reset-gpu', first: 1, last: 1 } as const;
    const crashes = Array.from({ length: 200 }, (_, index) => ({
      code: 'xid/13',
      device: `0000:${index}:00`,
      action: 'restart-app' as const,
      at: 1_000_000 + index,
    }));
    const full = crashes.reduce<NodeHistory>(withEntry, [hardware]);
    expect(full).toHaveLength(64);
    expect(full).toContainEqual(hardware);
  });
});

describe('what faults lead to', () => {
  const known = { history: [], now, again: false };
  const shownOf = (faults: readonly Fault[]) =>
    judgeFaults(faults, known, act).verdicts.map(({ fault, effects, rules }) => [fault.id, effects, rules]);

  it('does not depend on the order in which they are given', () => {
    fc.assert(
      fc.property(shuffled, ([faults, mixed]) => {
        const once = [...new Map(mixed.map((fault) => [fault.id, fault])).values()];
        expect(shownOf(once)).toEqual(shownOf(faults));
      }),
    );
  });

  it('is not changed by duplicates', () => {
    fc.assert(
      fc.property(shuffled, ([faults, mixed]) => {
        const effectsOf = (some: readonly Fault[]) =>
          new Set(
            judgeFaults(some, known, act).verdicts.flatMap(({ fault, rules }) =>
              rules.map((rule) => `${fault.id} ${rule}`),
            ),
          );
        expect(effectsOf(mixed)).toEqual(effectsOf(faults));
      }),
    );
  });

  it('is the same after a restart at any point, for the state goes through JSON', () => {
    fc.assert(
      fc.property(stream, fc.nat(30), (given, cut) => {
        const faults = inTime(given);
        const play = (some: readonly Fault[], state = {}) => {
          const replay = nodeReplay(act, state);
          const verdicts = some.map((fault) => replay.take(fault, Date.parse(fault.seenAt)));
          return { verdicts, state: JSON.parse(JSON.stringify(replay.state())) as Record<string, NodeHistory> };
        };
        const before = play(faults.slice(0, cut));
        const after = play(faults.slice(cut), before.state);
        const whole = play(faults);
        expect([...before.verdicts, ...after.verdicts]).toEqual(whole.verdicts);
        expect(after.state).toEqual(whole.state);
      }),
    );
  });

  it('holds when it is judged again', () => {
    fc.assert(
      fc.property(stream, (faults) => {
        const first = judgeFaults(faults, known, act);
        const again = judgeFaults(faults, { ...known, history: first.history, again: true }, act);
        const quarantines = ({ verdicts }: typeof first) =>
          verdicts.filter(({ effects }) => effects.includes('quarantine')).map(({ fault }) => fault.id);
        expect(quarantines(again)).toEqual(expect.arrayContaining(quarantines(first)));
        expect(again.history).toEqual(first.history);
      }),
    );
  });

  it('is one verdict for a million lines of one fault, in bounded memory', () => {
    const replay = nodeReplay(act);
    const fault = kernelFault();
    let verdicts = 0;
    for (let line = 0; line < 1_000_000; line++) {
      const at = begin + line;
      if (replay.take({ ...fault, seenAt: new Date(at).toISOString() }, at)) verdicts += 1;
    }
    expect(verdicts).toBe(1);
    expect(JSON.stringify(replay.state()).length).toBeLessThan(200);
  }, 240_000);

  it('believes no clock that is ahead', () => {
    const { history } = judgeFaults([kernelFault({ seenAt: '2099-01-01T00:00:00Z' })], known, act);
    expect(history.map(({ last }) => last)).toEqual([now]);
  });
});
