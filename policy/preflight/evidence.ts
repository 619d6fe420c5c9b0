/** The evidence of each pair about its ends. */

import { cohortOf, type Cohort } from './cohort.ts';
import type { PairGraph, PairOutcome } from './pairs.ts';

/**
 * Probability of a misleading result: a healthy pair that looks slow, or one with a slow end that looks healthy. Higher than expected on
 * purpose: in simulation, a lower value blamed a healthy node in each clean run of 1,024. It bounds the evidence of a pair to odds of 1 to this.
 */
export const noise = 0.03;
/** A little slow: at least this far below the usual, as a share or in spreads, whichever is more. */
const littleFrom = { share: 0.05, spreads: 2 } as const;
/** Plainly slow: at least this far below. */
const plainlyFrom = { share: 0.15, spreads: 5 } as const;

/** Evidence of a pair, as logarithms of odds against both ends being healthy. Its worse end sets the speed. */
export interface PairEvidence {
  readonly pair: PairOutcome;
  /** That its worse end is a little slow, and plainly slow. */
  readonly little: number;
  readonly plainly: number;
}

/** The evidence of a run, and the cohort that it was compared with. */
export interface Weighed {
  readonly evidence: readonly PairEvidence[];
  readonly cohort: Cohort | undefined;
}

/** Weighs every pair against the usual bandwidth of its run. */
export function weigh(graph: PairGraph): Weighed {
  const cohort = cohortOf(graph);
  return { cohort, evidence: graph.outcomes.map((pair) => ({ pair, ...saying(pair, cohort) })) };
}

const bound = -Math.log(noise);
const well = { little: -bound, plainly: -bound };

/**
 * The likelihood ratio of an interval of bandwidths against the usual or better. Within the interval the likelihood is maximal, outside of it
 * falls off as normal noise, and nowhere is it below `noise` (the contamination model of robust statistics, Huber 1964). So a bandwidth that
 * fits neither is no evidence, and no single bandwidth is proof.
 */
function saying({ failed, gbps, round }: PairOutcome, cohort: Cohort | undefined): Omit<PairEvidence, 'pair'> {
  if (failed) return { little: 0, plainly: bound };
  if (gbps === undefined || cohort === undefined) return well;
  const below = -Math.log(gbps / cohort.usual(round));
  const [little, plainly] = [startOf(littleFrom, cohort), startOf(plainlyFrom, cohort)];
  if (cohort.split) return below < -little ? well : { little: 0, plainly: 0 };
  const likely = (distance: number): number => (1 - noise) * Math.exp(-0.5 * (distance / cohort.spread) ** 2) + noise;
  const healthy = likely(Math.max(0, below));
  return {
    little: Math.log(likely(Math.max(0, little - below, below - plainly)) / healthy),
    plainly: Math.log(likely(Math.max(0, plainly - below)) / healthy),
  };
}

/** Where an interval starts, as logarithm below the usual. */
const startOf = ({ share, spreads }: typeof littleFrom | typeof plainlyFrom, { spread }: Cohort): number =>
  Math.max(-Math.log1p(-share), spreads * spread);

/** Odds of 3 to 1 count as evidence. */
const clear = Math.log(3);

/** Evidence against its ends. */
export const isLow = ({ little, plainly }: PairEvidence): boolean => Math.max(little, plainly) > clear;

/** Evidence that neither end is plainly slow; one may still be a little slow. */
export const isWell = ({ plainly }: PairEvidence): boolean => plainly < -clear;

/** Evidence about each end, in the order of rounds. A slow pair with a broken end is no evidence about the other. */
export function evidenceOf(
  ends: number,
  evidence: readonly PairEvidence[],
  broken: ReadonlySet<number> = new Set(),
): PairEvidence[][] {
  const about = Array.from({ length: ends }, (): PairEvidence[] => []);
  for (const one of evidence.toSorted((a, b) => a.pair.round - b.pair.round)) {
    if (isWell(one) || !one.pair.ends.some((end) => broken.has(end)))
      for (const end of one.pair.ends) about[end]?.push(one);
  }
  return about;
}
