/** Waves of recoveries with one cause, with callers that ask again when they are told to, vanish, and come back. */

import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { noWaves, joinWave, type Waves } from '../../workflows/cluster/waves.ts';

const rule = { pods: 10, everyMs: 60_000 };

interface Caller {
  readonly recovery: string;
  readonly pods: number;
  readonly priority: number;
  readonly at: number;
  /** It asks once, and never again. */
  readonly vanishes: boolean;
}

interface Begun extends Caller {
  readonly wave: number;
  readonly begunAt: number;
}

const callers = fc
  .array(
    fc.record({
      pods: fc.integer({ min: 1, max: 14 }),
      priority: fc.constantFrom(0, 0, 100, 1000),
      at: fc.integer({ min: 0, max: 180_000 }),
      vanishes: fc.boolean(),
    }),
    { maxLength: 40, size: 'max' },
  )
  .map((all) => all.map((one, index): Caller => ({ ...one, recovery: `r${index}` })));

/** Plays the calls in the order of their times. */
function play(
  all: readonly Caller[],
  take: typeof joinWave = joinWave,
): { waves: Waves; begun: Begun[]; asked: number } {
  let waves = noWaves;
  let asked = 0;
  const begun: Begun[] = [];
  const queue = all.map((caller) => ({ caller, at: caller.at }));
  while (queue.length > 0 && asked < 5000) {
    queue.sort((a, b) => a.at - b.at);
    const next = queue.shift();
    if (!next) break;
    asked += 1;
    const { caller, at } = next;
    const result = take(waves, { ...caller, rule }, at);
    ({ waves } = result);
    if (result.answer.granted) begun.push({ ...caller, wave: result.answer.wave, begunAt: at });
    else if (!caller.vanishes) queue.push({ caller, at: at + Math.max(1, result.answer.lookAgainMs) });
  }
  return { waves, begun, asked };
}

const violations = (all: readonly Caller[], take?: typeof joinWave): string[] => {
  const { waves, begun } = play(all, take);
  const lasting = all.filter(({ vanishes }) => !vanishes);
  const byWave = Map.groupBy(begun, ({ wave }) => wave);
  return [
    ...lasting.filter((one) => !begun.some(({ recovery }) => recovery === one.recovery)).map(() => 'one never begins'),
    ...[...byWave.values()].flatMap((members) =>
      members.length > 1 && members.reduce((sum, { pods }) => sum + pods, 0) > rule.pods ? ['a wave is too large'] : [],
    ),
    // Whoever asked in time for a wave that others of less importance joined is in it, or in an earlier one.
    ...begun.flatMap((one) =>
      begun
        .filter(({ at, priority, wave }) => at === one.at && priority > one.priority && wave > one.wave)
        .filter(() => one.begunAt > one.at)
        .map((other) => `${one.recovery} overtakes ${other.recovery}`),
    ),
    ...(waves.begun.length > 20 ? ['too many waves are kept'] : []),
    ...begun.flatMap(({ begunAt, at }) => (begunAt - at > all.length * 3 * rule.everyMs ? ['one waits for ever'] : [])),
  ];
};

const found = (take?: typeof joinWave): string | undefined => {
  const result = fc.check(
    fc.property(callers, (all) => violations(all, take).length === 0),
    { seed: 7, numRuns: 300 },
  );
  return result.failed ? violations(result.counterexample?.[0] ?? [], take).join() : undefined;
};

describe('recoveries of one cause', () => {
  it('begin in waves of the size that the settings allow, in the order of their importance, and none waits for ever', () => {
    expect(found()).toBeUndefined();
  });

  it.each<[string, typeof joinWave, RegExp]>([
    [
      'waves without a size',
      (waves, request, now) => joinWave(waves, { ...request, rule: { ...rule, pods: 99 } }, now),
      /too large/,
    ],
    [
      'no priorities',
      (waves, request, now) => joinWave(waves, { ...request, priority: -request.priority }, now),
      /overtakes/,
    ],
    [
      'a queue that forgets who asked',
      (waves, request, now) => joinWave({ ...waves, members: [], waiting: [] }, request, now),
      /too large|overtakes/,
    ],
    [
      'a refusal without an end',
      (waves, request, now) =>
        request.pods > rule.pods
          ? { waves, answer: { granted: false, because: 'too large', lookAgainMs: 1000 } }
          : joinWave(waves, request, now),
      /never begins/,
    ],
  ])('are found out: %s', (_, take, violation) => {
    expect(found(take)).toMatch(violation);
  });

  const ask = (waves: Waves, recovery: string, pods: number, now: number, priority = 0) =>
    joinWave(waves, { recovery, pods, priority, rule }, now);

  it('that asks again in the same wave gets the same answer, and counts once', () => {
    const first = ask(noWaves, 'a', 6, 0);
    const again = ask(first.waves, 'a', 6, 1000);
    expect([again.answer, again.waves.begun]).toEqual([
      first.answer,
      [{ number: 1, since: 0, pods: 6, recoveries: 1 }],
    ]);
  });

  it('that does not fit is told how many come before it, and when to ask', () => {
    const first = ask(noWaves, 'a', 6, 0);
    const second = ask(first.waves, 'b', 6, 0);
    const { answer } = ask(second.waves, 'c', 1, 20_000);
    expect(answer).toEqual({
      granted: false,
      because:
        'wave 1 of the recoveries with one cause restarts 6 pods, and 10 may begin at once (recovery.waves.pods); 1 recoveries with 6 pods come before this one',
      lookAgainMs: 40_010,
    });
  });

  it('that has ended holds up no other', () => {
    const full = ask(noWaves, 'a', 10, 0);
    const { waves } = ask(full.waves, 'gone', 10, 0, 1000);
    const next = ask(waves, 'b', 10, 3 * rule.everyMs);
    expect(next.answer).toEqual({ granted: true, wave: 2 });
  });

  it('that has waited for five waves comes before any priority', () => {
    let { waves } = ask(noWaves, 'a', 10, 0);
    ({ waves } = ask(waves, 'old', 10, 0));
    for (let minute = 1; minute < 5; minute += 1) {
      ({ waves } = ask(waves, `new-${minute}`, 10, minute * rule.everyMs - 1, 1000));
      expect(ask(waves, `new-${minute}`, 10, minute * rule.everyMs, 1000).answer.granted).toBe(true);
      ({ waves } = ask(waves, `new-${minute}`, 10, minute * rule.everyMs, 1000));
      ({ waves } = ask(waves, 'old', 10, minute * rule.everyMs));
    }
    ({ waves } = ask(waves, 'new-5', 10, 5 * rule.everyMs - 1, 1000));
    expect(ask(waves, 'new-5', 10, 5 * rule.everyMs, 1000).answer.granted).toBe(false);
    expect(ask(waves, 'old', 10, 5 * rule.everyMs).answer).toEqual({ granted: true, wave: 6 });
  });
});
