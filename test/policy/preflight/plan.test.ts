import { describe, expect, it } from '@jest/globals';
import type { PlannedRank, RoundPlan, RoundResult } from '../../../contract/preflight/rounds.ts';
import { planRound } from '../../../policy/preflight/plan.ts';

type Settings = Parameters<typeof planRound>[1];
type Word = Pick<RoundResult, 'status' | 'gbps'>;
type Pairs = readonly (readonly [number, number])[];

const fixed: Settings = { rounds: 'fixed', most: 5 };
const adaptive: Settings = { rounds: 'adaptive', most: 6 };
const well: Word = { status: 'ok', gbps: 100 };
const bad: Word = { status: 'ok', gbps: 40 };

/** Plays a run to its end; returns the pairs and idle ranks of each round, and why it ended. */
function play(
  size: number,
  settings: Settings,
  word: (a: number, b: number, round: number) => Word = () => well,
  seed = 'seed',
) {
  const results = Array.from({ length: size }, (): RoundResult[] => []);
  const ranks = results.map((results, rank): PlannedRank => ({ rank, node: `gpu-${rank}`, results }));
  const rounds: Extract<RoundPlan, { kind: 'round' }>[] = [];
  for (;;) {
    const plan = planRound({ size, ranks, round: rounds.length, seed }, settings);
    if (plan.kind === 'done') return { rounds, because: plan.because };
    for (const [a, b] of plan.pairs) {
      const measured = word(a, b, rounds.length);
      results[a]?.push({ round: rounds.length, peer: b, ...measured });
      results[b]?.push({ round: rounds.length, peer: a, ...measured });
    }
    for (const rank of plan.idle) results[rank]?.push({ round: rounds.length, status: 'skip' });
    rounds.push(plan);
  }
}

const slow =
  (...ranks: readonly number[]) =>
  (a: number, b: number): Word =>
    ranks.includes(a) || ranks.includes(b) ? bad : well;
const key = ([a, b]: readonly [number, number]): string => `${Math.min(a, b)}-${Math.max(a, b)}`;
const keysOf = (rounds: readonly { readonly pairs: Pairs }[]): string[] =>
  rounds.flatMap(({ pairs }) => pairs.map(key));
const partnersOf = (rank: number, rounds: readonly { readonly pairs: Pairs }[]): (number | undefined)[] =>
  rounds.map(({ pairs }) => pairs.find((pair) => pair.includes(rank))?.find((other) => other !== rank));

describe('the planner of rounds', () => {
  it.each([2, 3, 4, 5, 8, 9, 64, 65])(
    'gives everybody of %i one partner in a round and another in the next',
    (size) => {
      const { rounds } = play(size, fixed);
      expect(rounds).toHaveLength(Math.min(size % 2 === 0 ? size - 1 : size, 5));
      for (const { pairs, idle } of rounds) {
        expect([...pairs.flat(), ...idle].toSorted((a, b) => a - b)).toEqual(
          Array.from({ length: size }, (_, rank) => rank),
        );
        expect(idle).toHaveLength(size % 2);
      }
      expect(new Set(keysOf(rounds)).size).toBe(keysOf(rounds).length);
      expect(new Set(rounds.flatMap(({ idle }) => idle)).size).toBe(rounds.length * (size % 2));
    },
  );

  it('lets all ranks meet when there are enough rounds', () => {
    expect(new Set(keysOf(play(8, { rounds: 'fixed', most: 16 }).rounds)).size).toBe(28);
  });

  it('shuffles: neighbours in rank meet no more often than others, and another seed gives other pairs', () => {
    const { rounds } = play(256, fixed);
    const near = keysOf(rounds).filter((pair) => {
      const [a = 0, b = 0] = pair.split('-').map(Number);
      return b - a < 16;
    });
    expect(near.length).toBeLessThan(640 * 0.25);
    expect(keysOf(play(256, fixed, undefined, 'other').rounds)).not.toEqual(keysOf(rounds));
  });

  it('plans the same from the same facts, in whatever order ranks come', () => {
    const facts = (ranks: readonly number[]) => ({
      size: 9,
      ranks: ranks.map((rank) => ({ rank, node: `gpu-${rank}`, results: [] })),
      round: 0,
      seed: 's',
    });
    const plan = planRound(facts([0, 1, 2, 3, 4, 5, 6, 7, 8]), adaptive);
    expect(planRound(facts([8, 3, 1, 0, 2, 7, 6, 5, 4]), adaptive)).toEqual(plan);
  });

  it('plans for those that take part, and has nothing to plan for one', () => {
    const ranks = [1, 4, 6].map((rank) => ({ rank, node: `gpu-${rank}`, results: [] }));
    const plan = planRound({ size: 8, ranks, round: 0, seed: 's' }, fixed);
    expect(plan.kind === 'round' && [...plan.pairs.flat(), ...plan.idle].toSorted((a, b) => a - b)).toEqual([1, 4, 6]);
    expect(planRound({ size: 8, ranks: ranks.slice(0, 1), round: 0, seed: 's' }, adaptive)).toMatchObject({
      kind: 'done',
      because: '1 of 8 ranks take part, and a pair needs 2',
    });
  });
});

describe('adaptive rounds', () => {
  it.each([4, 5, 16, 64])('end after two of %i nodes that all do well', (size) => {
    expect(play(size, adaptive)).toMatchObject({
      rounds: { length: 2 },
      because: 'no rank is undecided after 2 rounds',
    });
  });

  it('let three ranks all meet, and find which is slow', () => {
    expect(play(3, adaptive)).toMatchObject({ rounds: { length: 3 }, because: 'no rank is undecided after 3 rounds' });
    for (const rank of [0, 1, 2])
      expect(play(3, adaptive, slow(rank)).because).toMatch(/^no rank is undecided after [45] rounds$/);
  });

  it('let a suspect meet one that did well and that it has not met, until it is certain', () => {
    const { rounds, because } = play(16, adaptive, slow(3));
    expect(rounds.length).toBeGreaterThan(2);
    expect(rounds.length).toBeLessThan(5);
    expect(because).toMatch(/^no rank is undecided after [34] rounds$/);
    const partners = partnersOf(3, rounds);
    expect(new Set(partners).size).toBe(partners.length);
    expect(rounds[2]?.because).toMatch(/^[1-3] undecided ranks meet the healthiest$/);
  });

  it('never let two suspects meet while others did well', () => {
    const { rounds } = play(64, adaptive, slow(3, 17, 40));
    const suspects = new Set(
      rounds
        .slice(0, 2)
        .flatMap(({ pairs }) => pairs.filter(([a, b]) => slow(3, 17, 40)(a, b) === bad))
        .flat(),
    );
    expect(rounds[2]?.pairs.filter((pair) => pair.every((rank) => suspects.has(rank)))).toEqual([]);
  });

  it('keep the slow ones out once they are certain', () => {
    const { rounds } = play(16, { rounds: 'adaptive', most: 6 }, (a, b, round) =>
      a === 5 || b === 5 ? (round % 2 === 0 ? bad : well) : slow(3)(a, b),
    );
    const out = rounds.findIndex(({ idle }) => idle.includes(3));
    expect(out).toBeGreaterThan(2);
    expect(rounds.slice(out).every(({ idle }) => idle.includes(3))).toBe(true);
  });

  it('continue for ranks that could not be tested, up to the limit', () => {
    const untested = play(8, { rounds: 'adaptive', most: 4 }, (a, b) =>
      a === 2 || b === 2 ? { status: 'skip' } : well,
    );
    expect(untested).toMatchObject({ rounds: { length: 4 }, because: '4 rounds are the most' });
    expect(new Set(partnersOf(2, untested.rounds)).size).toBe(4);
  });

  it('stop early with two ranks, which cannot be distinguished', () => {
    expect(play(2, adaptive)).toMatchObject({ rounds: { length: 1 }, because: 'the only pair did well' });
    expect(play(2, adaptive, () => ({ status: 'fail' }))).toMatchObject({
      rounds: { length: 2 },
      because: 'two ranks cannot be distinguished',
    });
  });

  it('plan a round for thousands, most of them undecided', () => {
    const ranks = Array.from({ length: 3000 }, (_, rank) => ({ rank, node: `gpu-${rank}`, results: [] }));
    const plan = planRound({ size: 3000, ranks, round: 3, seed: 's' }, adaptive);
    expect(plan.kind === 'round' && plan.pairs.length).toBe(1500);
  });
});
