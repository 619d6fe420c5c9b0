import { describe, expect, it } from '@jest/globals';
import { believe, prior } from '../../policy/preflight/belief.ts';
import { type PairEvidence, noise } from '../../policy/preflight/evidence.ts';
import { randomFrom, shuffled } from '../../policy/preflight/pairing.ts';

const bound = Math.log(1 / noise);
const chances = [1 - prior.little - prior.plainly, prior.little, prior.plainly] as const;

/** Exact probability that each end is slow, by enumeration of all combinations of states. */
function enumerated(ends: number, evidence: readonly PairEvidence[]): number[] {
  const says = evidence.map(({ pair, little, plainly }) => ({
    ends: pair.ends,
    odds: [1, Math.exp(little), Math.exp(plainly)],
  }));
  const slow = Array.from({ length: ends }, () => 0);
  let all = 0;
  for (let state = 0; state < 3 ** ends; state++) {
    const kinds = slow.map((_, end) => Math.floor(state / 3 ** end) % 3);
    let weight = kinds.reduce((product, kind) => product * (chances[kind] ?? 0), 1);
    for (const { ends, odds } of says) weight *= odds[Math.max(kinds[ends[0]] ?? 0, kinds[ends[1]] ?? 0)] ?? 0;
    all += weight;
    for (const [end, kind] of kinds.entries()) if (kind > 0) slow[end] = (slow[end] ?? 0) + weight;
  }
  return slow.map((weight) => weight / all);
}

const link = (a: number, b: number, little: number, plainly: number): PairEvidence => ({
  pair: { round: 0, ends: [a, b], failed: plainly > 0 },
  little,
  plainly,
});

/** Five random rounds of 8 ranks, two of them slow; one pair in 20 reports the opposite. */
function round(seed: string): PairEvidence[] {
  const random = randomFrom(seed);
  const slow = new Set(shuffled([0, 1, 2, 3, 4, 5, 6, 7], random).slice(0, 2));
  return Array.from({ length: 5 }, () => {
    const order = shuffled([0, 1, 2, 3, 4, 5, 6, 7], random);
    return [0, 2, 4, 6].map((at) => {
      const [a, b] = [order[at] ?? 0, order[at + 1] ?? 0];
      const looksSlow = (slow.has(a) || slow.has(b)) !== random() < 0.05;
      return looksSlow ? link(a, b, (random() - 0.5) * 4, bound) : link(a, b, -2.7, -bound);
    });
  }).flat();
}

describe('belief propagation', () => {
  it('is exact where pairs form no loop', () => {
    const evidence = [link(0, 1, 0.5, bound), link(1, 2, -2.7, -bound), link(1, 3, 1, 2), link(4, 5, 0, bound)];
    const exact = enumerated(6, evidence);
    for (const [end, { little, plainly }] of believe(6, evidence).entries())
      expect(little + plainly).toBeCloseTo(exact[end] ?? 0, 3);
  });

  it('is close to full enumeration on small graphs with many loops, and never says the opposite', () => {
    const differences = [...'abcdef'].flatMap((seed) => {
      const evidence = round(seed);
      const exact = enumerated(8, evidence);
      return believe(8, evidence).map(({ little, plainly }, end) => Math.abs(little + plainly - (exact[end] ?? 0)));
    });
    expect(differences).toHaveLength(48);
    expect(differences.filter((difference) => difference > 0.02).length).toBeLessThan(3);
    expect(Math.max(...differences)).toBeLessThan(0.2);
  });

  it('stays finite when one end has a thousand pairs', () => {
    const many = Array.from({ length: 1000 }, (_, peer) => link(0, peer + 1, 0, bound));
    const beliefs = believe(1001, many);
    expect(beliefs[0]?.plainly).toBeGreaterThan(0.99);
    expect(beliefs.every(({ little, plainly }) => little + plainly >= 0 && little + plainly <= 1)).toBe(true);
  });
});
