/** The usual bandwidth of a run: every pair is compared with its own run, never with a figure from elsewhere. */

import type { PairGraph, PairOutcome } from './pairs.ts';

/** Robust centre and spread of the fast pairs. */
export interface Cohort {
  /** Usual bandwidth of a round, GiB/s. */
  readonly usual: (round: number) => number;
  /** Spread of usual pairs: standard deviation of the natural logarithm, about the same as a relative deviation. */
  readonly spread: number;
  /**
   * So many nodes are clearly faster than the usual that it is unknown whether those are fast or the others slow.
   * Only the fast ones are known to be healthy.
   */
  readonly split: boolean;
}

/** Lower bound of the spread: clocks and message sizes alone cause 1 to 2 %. */
const leastSpread = 0.02;
/** How far a node's best pair may be below the middle for its pairs to count as usual, logarithm. */
const leastWidth = 0.05;
/** A round with fewer usual pairs is compared with the whole run instead of itself. */
const pairsOfRound = 8;
/** How far above the usual counts as clearly faster, logarithm, and the share of such nodes that splits a run into two groups. */
const faster = 0.1;
const fasterShare = 0.1;
/** From median absolute deviation to standard deviation, for a normal distribution. */
const perDeviation = 1.4826;

/** Undefined where no pair has a bandwidth. */
export function cohortOf({ ends, outcomes }: PairGraph): Cohort | undefined {
  const measured = outcomes.filter(({ failed, gbps }) => !failed && gbps !== undefined);
  if (measured.length === 0) return undefined;
  const best = bestOf(ends, measured);
  const bests = best.filter(Number.isFinite);
  const middle = upperMedian(bests);
  const width = Math.max(leastWidth, 3 * perDeviation * upperMedian(bests.map((value) => Math.abs(value - middle))));
  const usualPairs = measured.filter((pair) => pair.ends.every((end) => (best[end] ?? -Infinity) >= middle - width));
  const centre = upperMedian(usualPairs.map(logOf));
  const rounds = Map.groupBy(usualPairs, ({ round }) => round);
  const centres = new Map(
    [...rounds].map(([round, pairs]) => [round, pairs.length < pairsOfRound ? centre : upperMedian(pairs.map(logOf))]),
  );
  const usual = (round: number): number => centres.get(round) ?? centre;
  const spread = Math.max(leastSpread, deviation(usualPairs.map((pair) => logOf(pair) - usual(pair.round))));
  const fast = bests.filter((value) => value > centre + Math.max(faster, 5 * spread)).length;
  return { usual: (round) => Math.exp(usual(round)), spread, split: fast >= 2 && fast >= fasterShare * bests.length };
}

/**
 * The best pair of each end. A healthy node needs only one healthy partner to reach its speed, so the median of these holds until half of the
 * nodes are slow; the median of the pairs would fail at 3 of 10.
 */
function bestOf(ends: number, measured: readonly PairOutcome[]): number[] {
  const best = Array.from({ length: ends }, () => -Infinity);
  for (const pair of measured) for (const end of pair.ends) best[end] = Math.max(best[end] ?? -Infinity, logOf(pair));
  return best;
}

const logOf = ({ gbps }: PairOutcome): number => Math.log(gbps ?? Number.NaN);

/** The larger of two middle values, because slow nodes only lower values. */
function upperMedian(values: readonly number[]): number {
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Median absolute deviation as a standard deviation; the factor for few values is that of Croux and Rousseeuw (1992). */
function deviation(values: readonly number[]): number {
  const few = values.length / Math.max(0.2, values.length - 0.8);
  return perDeviation * few * upperMedian(values.map(Math.abs));
}
