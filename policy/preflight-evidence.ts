/** What each pair says of its ends. */

import { cohortOf, type Cohort } from './preflight-cohort.ts';
import type { PairGraph, PairOutcome } from './preflight-pairs.ts';

/**
 * Probability that a pair looks like anything at all, whoever its ends are: a healthy pair slow, one with a slow end healthy. More than is
 * expected, on purpose: in simulation, assuming too little blamed a healthy node in each clean run of 1,024.
 * No pair says more than odds of 1 to this.
 */
export const noise = 0.03;
/** A little slow: from here below the usual, as a share and in spreads, whichever is more. */
const littleFrom = { share: 0.05, spreads: 2 } as const;
/** Plainly slow: from here. */
const plainlyFrom = { share: 0.15, spreads: 5 } as const;

/** What a pair says, as logarithms of odds against all its ends being healthy. Its worse end sets the pace. */
export interface PairEvidence {
  readonly pair: PairOutcome;
  /** For its worse end being a little slow, and plainly slow. */
  readonly little: number;
  readonly plainly: number;
}

/** What the pairs of a run say, and what they were compared with. */
export interface Weighed {
  readonly evidence: readonly PairEvidence[];
  readonly cohort: Cohort | undefined;
}

/** Weighs every pair against the run's own usual. */
export function weigh(graph: PairGraph): Weighed {
  const cohort = cohortOf(graph);
  return { cohort, evidence: graph.outcomes.map((pair) => ({ pair, ...saying(pair, cohort) })) };
}

const bound = -Math.log(noise);
const well = { little: -bound, plainly: -bound };

/**
 * The likelihood ratio of an interval of bandwidths against the usual or better: within the interval a bandwidth is as likely as can be,
 * outside of it as normal noise has it, and everywhere at least as likely as `noise` (the contamination model of robust statistics,
 * Huber 1964). So a bandwidth that fits nothing says nothing, and no bandwidth says everything.
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

/** Where a kind of slow starts, as logarithm below the usual. */
const startOf = ({ share, spreads }: typeof littleFrom | typeof plainlyFrom, { spread }: Cohort): number => Math.max(-Math.log1p(-share), spreads * spread);

/** Odds of 3 to 1 are worth telling. */
const clear = Math.log(3);

/** It speaks against its ends. */
export const isLow = ({ little, plainly }: PairEvidence): boolean => Math.max(little, plainly) > clear;

/** It says that neither end is plainly slow; one may still be a little slow. */
export const isWell = ({ plainly }: PairEvidence): boolean => plainly < -clear;

/** What speaks about each end, in the order of rounds. A pair that does not do well with a broken end says nothing of the other. */
export function evidenceOf(ends: number, evidence: readonly PairEvidence[], broken: ReadonlySet<number> = new Set()): PairEvidence[][] {
  const about = Array.from({ length: ends }, (): PairEvidence[] => []);
  for (const one of evidence.toSorted((a, b) => a.pair.round - b.pair.round)) {
    if (isWell(one) || !one.pair.ends.some((end) => broken.has(end))) for (const end of one.pair.ends) about[end]?.push(one);
  }
  return about;
}
