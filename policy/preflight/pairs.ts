/** Merges the reports of both ends to one outcome for each pair and round. */

import type { PairTest, PreflightReport } from '../../contract/preflight/preflight.ts';

/** Result of one pair in one round. Without `gbps` only whether it failed is known. */
export interface PairOutcome {
  readonly round: number;
  /** Indices of ends. */
  readonly ends: readonly [number, number];
  readonly failed: boolean;
  /** The smaller bandwidth that both ends report, GiB/s; above 0. */
  readonly gbps?: number;
  /** As the test wrote it. */
  readonly because?: string;
}

/** The graph of pairs. The first ends are the reports, in their order; then addresses that no report claims. */
export interface PairGraph {
  readonly ends: number;
  readonly outcomes: readonly PairOutcome[];
}

/**
 * The pair graph of reports of different ranks; `threshold` in GiB/s, for reports that set none.
 * A test belongs to its reporter, whatever address it names as its own. A partner's address that no report claims is an end of its own: its
 * node may be slow, but is unknown. Ignored are tests against an address that several reports claim, skipped tests, tests without a partner
 * or a usable number, and tests of a reporter against itself.
 */
export function pairGraph(reports: readonly PreflightReport[], threshold: number): PairGraph {
  const claims = claimsOf(reports);
  const outcomes = new Map<string, PairOutcome>();
  let ends = reports.length;
  const endOf = (address: string): number | undefined => {
    if (!claims.has(address)) claims.set(address, ends++);
    return claims.get(address);
  };
  for (const [own, report] of reports.entries()) {
    for (const test of report.tests) {
      const peer = test.peer === undefined || test.status === 'skip' ? undefined : endOf(test.peer);
      const seen = seenBy(test, report.threshold ?? threshold);
      if (peer === undefined || peer === own || seen === undefined) continue;
      const pair = [Math.min(own, peer), Math.max(own, peer)] as const;
      const key = `${test.round}/${pair[0]}/${pair[1]}`;
      outcomes.set(key, merged({ round: test.round, ends: pair, ...seen }, outcomes.get(key)));
    }
  }
  return { ends, outcomes: [...outcomes.values()] };
}

/** The owner of each address; undefined where several claim it. */
function claimsOf(reports: readonly PreflightReport[]): Map<string, number | undefined> {
  const claims = new Map<string, number | undefined>();
  for (const [own, { address, tests }] of reports.entries()) {
    for (const claimed of new Set([address, ...tests.flatMap(({ self }) => self ?? [])])) {
      if (claimed !== '') claims.set(claimed, claims.has(claimed) ? undefined : own);
    }
  }
  return claims;
}

type PairObservation = Pick<PairOutcome, 'failed' | 'gbps' | 'because'>;

/** A pair below the floor failed, whatever its status says. */
function seenBy({ status, gbps, because }: PairTest, floor: number): PairObservation | undefined {
  if (gbps !== undefined && !Number.isFinite(gbps)) return status === 'fail' ? { failed: true } : undefined;
  const failed = status === 'fail' || (gbps !== undefined && (gbps <= 0 || gbps < floor));
  return {
    failed,
    ...(gbps !== undefined && gbps > 0 && { gbps }),
    ...(failed && because !== undefined && { because }),
  };
}

/** Either end's failure counts. An all-reduce is over when its slower end is, so the smaller bandwidth is the pair's. */
function merged(one: PairOutcome, other: PairOutcome | undefined): PairOutcome {
  if (other === undefined) return one;
  const gbps = Math.min(one.gbps ?? Infinity, other.gbps ?? Infinity);
  const because = other.because ?? one.because;
  return {
    round: one.round,
    ends: one.ends,
    failed: one.failed || other.failed,
    ...(Number.isFinite(gbps) && { gbps }),
    ...(because !== undefined && { because }),
  };
}
