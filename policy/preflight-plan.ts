/** Who tests whom in the next round. */

import type { PreflightReport } from '../contract/preflight.ts';
import type { RoundFacts, PlannedRank, RoundPlan } from '../contract/preflight-rounds.ts';
import type { ControllerSettings } from '../contract/settings.schema.ts';
import { prior, suspect } from './preflight-belief.ts';
import { evidenceOf, isWell, weigh } from './preflight-evidence.ts';
import { matching, type Met, type Random, randomFrom, shuffled } from './preflight-pairing.ts';
import { pairGraph } from './preflight-pairs.ts';

/**
 * Another round is worth its time for a rank that is slow with more than `above`, or plainly slow with more than `plainly`, but with less than
 * `below`. One pair that did well and one that did not make 0.009, two that did well and one that did not 0.0003.
 */
const needsTest = { above: 0.1, plainly: 0.003, below: 0.99 } as const;
/** Rounds for all before anybody is picked out: fewer cannot tell the two ends of a failing pair apart. Of three ranks, two may not have met by then. */
const forAll = (ranks: number): number => (ranks === 3 ? 3 : 2);

/**
 * The next round, or that there is none. `fixed`: rounds with partners at random, until all have met or `most` are over. `adaptive`: after
 * two such rounds every undecided rank meets the one that looks healthiest of those that it has not met, slow ranks sit out, the others
 * meet at random; until nobody is undecided. Two ranks alone have two rounds at most, as nothing tells them apart.
 */
export function planRound({ size, ranks, round, seed }: RoundFacts, { rounds, most }: Pick<ControllerSettings['preflight'], 'rounds' | 'most'>): RoundPlan {
  if (ranks.length < 2) return done(`${ranks.length} of ${size} ranks take part, and a pair needs 2`);
  if (round >= most) return done(`${round} rounds are the most`);
  const met = metBy(ranks);
  const random = randomFrom(seed);
  // The same order in every round, so that the turns of its circle are different pairs.
  const order = shuffled(
    ranks.map(({ rank }) => rank).toSorted((a, b) => a - b),
    random,
  );
  const atRandom = (): RoundPlan => ({ kind: 'round', ...matching(order, round, met, random), because: 'all meet partners at random' });
  // An odd number takes one round more, as each sits out once.
  if (rounds === 'fixed') return round < order.length - 1 + (order.length % 2) ? atRandom() : done(`after ${round} rounds all have met`);
  if (round === 0) return atRandom();
  const looks = looksOf(ranks);
  const suspects = order.filter((rank) => undecided(looks.get(rank)));
  if (order.length === 2) {
    if (suspects.length === 0) return done('the only pair did well');
    return round < forAll(2) ? atRandom() : done('two ranks cannot be told apart');
  }
  if (round < forAll(order.length)) return atRandom();
  return suspects.length === 0 ? done(`nobody is undecided after ${round} rounds`) : retest(suspects, looks, order, met, randomFrom(`${seed}/${round}`));
}

const done = (because: string): RoundPlan => ({ kind: 'done', because });

/** How a rank looks so far. */
interface RankAssessment {
  /** Probabilities that it is slow, and plainly so. */
  readonly slow: number;
  readonly plainly: number;
  /** One of its pairs did well. */
  readonly passed: boolean;
}

const undecided = (look: RankAssessment | undefined): boolean =>
  look === undefined || (look.slow < needsTest.below && (look.slow > needsTest.above || look.plainly > needsTest.plainly || !look.passed));

/** The statistical rule on what the ranks told so far, without a floor: a runner that has one says `fail`. */
function looksOf(ranks: readonly PlannedRank[]): ReadonlyMap<number, RankAssessment> {
  const reports = ranks.map(({ rank, node, results }): PreflightReport => {
    const tests = results.map(({ peer, ...result }) => ({ ...result, ...(peer !== undefined && { peer: String(peer) }) }));
    return { size: ranks.length, rank, node, address: String(rank), tests };
  });
  const graph = pairGraph(reports, 0);
  const { evidence } = weigh(graph);
  const beliefs = suspect(graph.ends, evidence);
  const about = evidenceOf(graph.ends, evidence);
  return new Map(
    ranks.map(({ rank }, end) => {
      const { little, plainly } = beliefs[end] ?? prior;
      return [rank, { slow: little + plainly, plainly, passed: (about[end] ?? []).some(isWell) }];
    }),
  );
}

/** Suspects first, the likeliest before others; each takes the healthiest that is left and that it has not met. */
function retest(suspects: readonly number[], looks: ReadonlyMap<number, RankAssessment>, order: readonly number[], met: Met, random: Random): RoundPlan {
  const slow = (rank: number): number => looks.get(rank)?.slow ?? 0;
  const free = new Set(
    shuffled(order, random)
      .filter((rank) => slow(rank) < needsTest.below)
      .toSorted((a, b) => slow(a) - slow(b)),
  );
  const pairs: [number, number][] = [];
  for (const suspect of suspects.toSorted((a, b) => slow(b) - slow(a))) {
    if (!free.delete(suspect)) continue;
    const partner = [...free].find((rank) => !met.before(suspect, rank)) ?? [...free][0];
    if (partner === undefined) free.add(suspect);
    else if (free.delete(partner)) pairs.push([Math.min(suspect, partner), Math.max(suspect, partner)]);
  }
  const rest = matching(shuffled([...free], random), 0, met, random);
  const out = order.filter((rank) => slow(rank) >= needsTest.below);
  return {
    kind: 'round',
    pairs: [...pairs, ...rest.pairs],
    idle: [...rest.idle, ...out].toSorted((a, b) => a - b),
    because: `${suspects.length} undecided meet the healthiest`,
  };
}

/** Two ranks have met when either told a result of both. */
function metBy(ranks: readonly PlannedRank[]): Met {
  const partners = new Map(ranks.map(({ rank }) => [rank, new Set<number>()]));
  const idle = new Map<number, number>();
  for (const { rank, results } of ranks) {
    for (const { peer } of results) {
      if (peer === undefined) idle.set(rank, (idle.get(rank) ?? 0) + 1);
      else
        for (const [one, other] of [
          [rank, peer],
          [peer, rank],
        ] as const)
          partners.get(one)?.add(other);
    }
  }
  return { before: (a, b) => partners.get(a)?.has(b) ?? false, satOut: (rank) => idle.get(rank) ?? 0 };
}
