/** Computes figures from verdicts and the truth. Pure. */

import type { PreflightJudgement } from '../contract/preflight/preflight.ts';

/** Counts of right and wrong verdicts, summed over jobs. */
export interface DetectionTally {
  readonly jobs: number;
  /** Actual slow nodes; an undetermined one counts as missed. */
  readonly slow: number;
  readonly found: number;
  /** Healthy nodes that were judged slow. */
  readonly blamed: number;
  readonly undetermined: number;
  /** Jobs with the right verdict for every node, and jobs in which no healthy node was blamed. */
  readonly right: number;
  readonly blameless: number;
  readonly rounds: number;
}

export const nothing: DetectionTally = {
  jobs: 0,
  slow: 0,
  found: 0,
  blamed: 0,
  undetermined: 0,
  right: 0,
  blameless: 0,
  rounds: 0,
};

/** The tally with one more job. */
export function counted(
  tally: DetectionTally,
  { nodes }: Pick<PreflightJudgement, 'nodes'>,
  slow: ReadonlySet<number>,
  rounds: number,
): DetectionTally {
  const called = nodes.filter(({ verdict }) => verdict === 'slow').map(({ rank }) => rank);
  const found = called.filter((rank) => slow.has(rank)).length;
  const blamed = called.length - found;
  const undetermined = nodes.filter(({ verdict }) => verdict === 'undetermined').length;
  return {
    jobs: tally.jobs + 1,
    slow: tally.slow + slow.size,
    found: tally.found + found,
    blamed: tally.blamed + blamed,
    undetermined: tally.undetermined + undetermined,
    right: tally.right + Number(blamed === 0 && found === slow.size),
    blameless: tally.blameless + Number(blamed === 0),
    rounds: tally.rounds + rounds,
  };
}

/** A share with its standard error for independent trials. NaN without trials. */
export interface Share {
  readonly share: number;
  readonly error: number;
  readonly of: number;
}

export function share(part: number, of: number): Share {
  const share = part / of;
  return { share, error: Math.sqrt((share * (1 - share)) / of), of };
}

/** Figures of a tally. `blamed` and `undetermined`: nodes of a job, mean. */
export interface Figures {
  readonly jobs: number;
  readonly recall: Share;
  readonly precision: Share;
  readonly right: Share;
  readonly blameless: Share;
  readonly blamed: number;
  readonly undetermined: number;
  readonly rounds: number;
}

export const figuresOf = (tally: DetectionTally): Figures => ({
  jobs: tally.jobs,
  recall: share(tally.found, tally.slow),
  precision: share(tally.found, tally.found + tally.blamed),
  right: share(tally.right, tally.jobs),
  blameless: share(tally.blameless, tally.jobs),
  blamed: tally.blamed / tally.jobs,
  undetermined: tally.undetermined / tally.jobs,
  rounds: tally.rounds / tally.jobs,
});

/** Share of `slow` scores above a line that one in a thousand of `healthy` scores passes. */
export function foundAtOneInAThousand(slow: readonly number[], healthy: readonly number[]): Share {
  const line = healthy.toSorted((a, b) => b - a)[Math.floor(healthy.length / 1000)] ?? 0;
  return share(slow.filter((score) => score > line).length, slow.length);
}
