/** A simulated fleet with known slow nodes, and the measurements of its preflight. */

import type { PreflightReport } from '../contract/preflight/preflight.ts';
import type { PlannedRank, RoundResult } from '../contract/preflight/rounds.ts';
import { type Random, randomFrom, shuffled } from '../policy/preflight/pairing.ts';
import { planRound } from '../policy/preflight/plan.ts';

/** Noise of the measurement of a pair. */
export interface Noise {
  /** Probability that a pair of healthy nodes looks like one with a slow node, and that one with a slow node looks healthy. */
  readonly falseSlow: number;
  readonly falseHealthy: number;
  /** Standard deviation of the natural logarithm of a bandwidth. */
  readonly sigma: number;
  /** Bandwidth of a slow node as a share of a healthy one's. */
  readonly slowTo: number;
  /** `bits`: only that a pair passed or failed is reported. */
  readonly reports: 'bits' | 'bandwidths';
}

export interface SimulatedFleet {
  readonly size: number;
  readonly slow: ReadonlySet<number>;
  readonly noise: Noise;
}

export type RoundSettings = Parameters<typeof planRound>[1];

/** GiB/s between two healthy nodes. */
export const nominal = 100;

/** A random set of slow nodes. */
export const scattered = (size: number, slow: number, random: Random): ReadonlySet<number> =>
  new Set(
    shuffled(
      Array.from({ length: size }, (_, rank) => rank),
      random,
    ).slice(0, slow),
  );

/** A rack of slow nodes: consecutive ranks. */
export function rack(size: number, slow: number, random: Random): ReadonlySet<number> {
  const first = Math.floor(random() * (size - slow + 1));
  return new Set(Array.from({ length: slow }, (_, index) => first + index));
}

/** The measurements of all ranks when the planner stops. */
export function testRounds({ size, slow, noise }: SimulatedFleet, rounds: RoundSettings, seed: string): PlannedRank[] {
  const random = randomFrom(`noise ${seed}`);
  const results = Array.from({ length: size }, (): RoundResult[] => []);
  const ranks = results.map((results, rank): PlannedRank => ({ rank, node: `gpu-${rank}`, results }));
  for (let round = 0; ; round++) {
    const plan = planRound({ size, ranks, round, seed }, rounds);
    if (plan.kind === 'done') return ranks;
    for (const [a, b] of plan.pairs) {
      const measured = measure(slow.has(a) || slow.has(b), noise, random);
      results[a]?.push({ round, peer: b, ...measured });
      results[b]?.push({ round, peer: a, ...measured });
    }
    for (const rank of plan.idle) results[rank]?.push({ round, status: 'skip', because: 'idle' });
  }
}

function measure(
  slow: boolean,
  { falseSlow, falseHealthy, sigma, slowTo, reports }: Noise,
  random: Random,
): Pick<RoundResult, 'status' | 'gbps'> {
  const looksSlow = random() < (slow ? falseHealthy : falseSlow) ? !slow : slow;
  if (reports === 'bits') return { status: looksSlow ? 'fail' : 'ok' };
  return { status: 'ok', gbps: nominal * (looksSlow ? slowTo : 1) * Math.exp(sigma * normal(random)) };
}

/** Box-Muller transform. */
const normal = (random: Random): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

export const reportsOf = (ranks: readonly PlannedRank[]): PreflightReport[] =>
  ranks.map(({ rank, node, results }) => ({
    size: ranks.length,
    rank,
    node,
    address: addressOf(rank),
    tests: results.map(({ peer, ...test }) => ({ ...test, ...(peer !== undefined && { peer: addressOf(peer) }) })),
  }));

const addressOf = (rank: number): string => `10.0.${rank >> 8}.${rank & 255}`;
