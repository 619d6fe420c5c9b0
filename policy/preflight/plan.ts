/** Plans which ranks test each other in the next round. */

import type { PreflightReport } from '../../contract/preflight/preflight.ts';
import type { RoundFacts, PlannedRank, RoundPlan } from '../../contract/preflight/rounds.ts';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import { prior, suspect } from './belief.ts';
import { evidenceOf, isWell, weigh } from './evidence.ts';
import { matching, type Met, type Random, randomFrom, shuffled } from './pairing.ts';
import { pairGraph } from './pairs.ts';

/**
 * A rank needs another round if its probability of being slow is above `above`, or of being plainly slow above `plainly`, and below `below`.
 * One fast and one slow pair make 0.009, two fast and one slow pair 0.0003.
 */
const needsTest = { above: 0.1, plainly: 0.003, below: 0.99 } as const;
/** Rounds with all ranks before single ones are retested: fewer cannot tell the ends of a failing pair apart. Three ranks need a third, so that all have met. */
const forAll = (ranks: number): number => (ranks === 3 ? 3 : 2);

/**
 * The next round, or that there is none. `fixed`: rounds with random partners, until all have met or `most` rounds are over. `adaptive`: after
 * two such rounds every undecided rank meets the healthiest-looking rank that it has not met, slow ranks sit out, the others meet at random,
 * until no rank is undecided. Two ranks alone have at most two rounds, because they cannot be distinguished.
 */
export function planRound(
  { size, ranks, round, seed }: RoundFacts,
  { rounds, most }: Pick<ControllerSettings['preflight'], 'rounds' | 'most'>,
): RoundPlan {
  if (ranks.length < 2) return done(`${ranks.length} of ${size} ranks take part, and a pair needs 2`);
  if (round >= most) return done(`${round} rounds are the most`);
  const met = metBy(ranks);
  const random = randomFrom(seed);
  // The same order in every round, so that different turns of its circle give different pairs.
  const order = shuffled(
    ranks.map(({ rank }) => rank).toSorted((a, b) => a - b),
    random,
  );
  const atRandom = (): RoundPlan => ({
    kind: 'round',
    ...matching(order, round, met, random),
    because: 'all meet partners at random',
  });
  // An odd number takes one more round, because each rank sits out once.
  if (rounds === 'fixed')
    return round < order.length - 1 + (order.length % 2) ? atRandom() : done(`after ${round} rounds all have met`);
  if (round === 0) return atRandom();
  const looks = looksOf(ranks);
  const suspects = order.filter((rank) => undecided(looks.get(rank)));
  if (order.length === 2) {
    if (suspects.length === 0) return done('the only pair did well');
    return round < forAll(2) ? atRandom() : done('two ranks cannot be distinguished');
  }
  if (round < forAll(order.length)) return atRandom();
  return suspects.length === 0
    ? done(`no rank is undecided after ${round} rounds`)
    : retest(suspects, looks, order, met, randomFrom(`${seed}/${round}`));
}

const done = (because: string): RoundPlan => ({ kind: 'done', because });

/** Assessment of a rank so far. */
interface RankAssessment {
  /** Probabilities that it is slow, and plainly so. */
  readonly slow: number;
  readonly plainly: number;
  /** One of its pairs did well. */
  readonly passed: boolean;
}

const undecided = (look: RankAssessment | undefined): boolean =>
  look === undefined ||
  (look.slow < needsTest.below && (look.slow > needsTest.above || look.plainly > needsTest.plainly || !look.passed));

/** The statistical rule on the results so far, without a floor: a test runner that has one reports `fail`. */
function looksOf(ranks: readonly PlannedRank[]): ReadonlyMap<number, RankAssessment> {
  const reports = ranks.map(({ rank, node, results }): PreflightReport => {
    const tests = results.map(({ peer, ...result }) => ({
      ...result,
      ...(peer !== undefined && { peer: String(peer) }),
    }));
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

/** Suspects first, the most likely slow first; each gets the healthiest remaining rank that it has not met. */
function retest(
  suspects: readonly number[],
  looks: ReadonlyMap<number, RankAssessment>,
  order: readonly number[],
  met: Met,
  random: Random,
): RoundPlan {
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
    because: `${suspects.length} undecided ranks meet the healthiest`,
  };
}

/** Two ranks have met when either reported a result with the other. */
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
