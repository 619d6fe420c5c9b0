/** The statistical rule: each node is slow, healthy or undetermined, from all bandwidths of the run. */

import type { PreflightJudgement, NodeJudgement, PreflightReport } from '../../contract/preflight/preflight.ts';
import { suspect } from './belief.ts';
import { type PairEvidence, evidenceOf, isLow, isWell, type Weighed, weigh } from './evidence.ts';
import { pairGraph } from './pairs.ts';
import type { JudgementBasis } from './strict.ts';

/**
 * Probabilities of being slow above which a node is slow, and below which it is healthy. Two failing pairs with partners that are fast in
 * other pairs make 0.91, which three nodes in three rounds cannot exceed.
 */
const slowAbove = 0.9;
const healthyBelow = 0.1;
/** Most pairs that are listed for a node. */
const named = 5;

/** The evidence about one node. */
interface Case {
  readonly index: number;
  readonly report: PreflightReport;
  /** Probability that it is slow. */
  readonly slow: number;
  readonly evidence: readonly PairEvidence[];
}

/**
 * A verdict on every node that reported, in the order of ranks; of two reports of one rank the last counts. A node is slow when the probability
 * is above 90 %; healthy when it is below 10 % and one of its own pairs was fast; otherwise undetermined, also when it was not tested or met
 * only slow nodes. `confidence` is 0 when all are undetermined.
 */
export function judgeStatistical(
  all: readonly PreflightReport[],
  { size, threshold }: JudgementBasis,
): PreflightJudgement {
  const reports = [...new Map(all.map((report) => [report.rank, report])).values()].toSorted((a, b) => a.rank - b.rank);
  const broken = new Set(reports.flatMap(({ failed }, index) => (failed?.length ? [index] : [])));
  const graph = pairGraph(reports, threshold);
  const weighed = weigh(graph);
  const slow = suspect(graph.ends, weighed.evidence, broken).map(({ little, plainly }) => little + plainly);
  const evidence = evidenceOf(graph.ends, weighed.evidence, broken);
  const cases = reports.map((report, index): Case => ({
    index,
    report,
    slow: slow[index] ?? 0,
    evidence: evidence[index] ?? [],
  }));
  // When more nodes look slow than healthy, the usual bandwidth is unknown: no node is convicted.
  const count = (verdict: NodeJudgement['verdict']): number => cases.filter((one) => verdictOn(one) === verdict).length;
  const tooMany = count('slow') > count('healthy');
  const name = (end: number): string => reports[end]?.node ?? 'a node without a report';
  const nodes = cases.map((one) => judged(one, tooMany, weighed, name));
  const decided = nodes.filter(({ verdict }) => verdict !== 'undetermined').map(({ confidence }) => confidence);
  return {
    rule: 'statistical',
    nodes,
    because: comparedWith(weighed, reports.length, size),
    confidence: decided.length === 0 ? 0 : Math.min(...decided),
  };
}

function verdictOn({ report, slow, evidence }: Case): NodeJudgement['verdict'] {
  if (report.failed?.length) return 'failed';
  if (slow > slowAbove) return 'slow';
  return slow < healthyBelow && evidence.some(isWell) ? 'healthy' : 'undetermined';
}

function judged(one: Case, tooMany: boolean, weighed: Weighed, name: (end: number) => string): NodeJudgement {
  const { report, slow, index, evidence } = one;
  const first = verdictOn(one);
  const verdict = tooMany && first === 'slow' ? 'undetermined' : first;
  const speaking = {
    failed: [],
    slow: evidence.filter(isLow),
    healthy: evidence.filter(isWell),
    undetermined: evidence,
  }[first];
  return {
    node: report.node,
    rank: report.rank,
    verdict,
    confidence: { failed: 1, slow, healthy: 1 - slow, undetermined: slow }[verdict],
    because:
      verdict === 'undetermined' ? whyUndetermined(one, tooMany && first === 'slow', weighed) : why(one, verdict),
    pairs: speaking.slice(0, named).map(({ pair }) => {
      const partner = name(pair.ends[0] === index ? pair.ends[1] : pair.ends[0]);
      return `round ${pair.round} with ${partner}: ${measured(pair, weighed)}`;
    }),
  };
}

function why({ report, evidence }: Case, verdict: 'failed' | 'slow' | 'healthy'): string {
  if (verdict === 'failed') return `its ${report.failed?.join(' and its ')} check failed`;
  return verdict === 'slow'
    ? `slow or failed in ${evidence.filter(isLow).length} of ${evidence.length} pairs, and its partners are not to blame`
    : `did well in ${evidence.filter(isWell).length} of ${evidence.length} pairs`;
}

function whyUndetermined({ slow, evidence }: Case, oneOfTooMany: boolean, { cohort }: Weighed): string {
  const low = evidence.filter(isLow).length;
  if (evidence.length === 0) return 'none of its pairs could be tested';
  if (oneOfTooMany) return 'more nodes look slow than healthy: the usual bandwidth is unknown';
  if (cohort?.split && low === 0) return 'some nodes are much faster: either those are fast, or this one is slow';
  if (slow < healthyBelow)
    return `slow or failed in ${low} of ${evidence.length} pairs, and did well in none: its partners may be to blame`;
  return `slow or failed in ${low} of ${evidence.length} pairs: not enough evidence to tell it from its partners`;
}

function measured({ failed, gbps, because, round }: PairEvidence['pair'], { cohort }: Weighed): string {
  const reason = because === undefined ? '' : ` (${because})`;
  if (gbps === undefined) return failed ? `failed${reason}` : 'passed, without a bandwidth';
  const compared = cohort === undefined ? '' : `, usual ${figure(cohort.usual(round))}`;
  return `${failed ? 'failed, ' : ''}${figure(gbps)} GiB/s${compared}${reason}`;
}

const figure = (gbps: number): string => (gbps < 100 ? gbps.toPrecision(3) : gbps.toFixed(0));

function comparedWith({ evidence, cohort }: Weighed, reports: number, size: number): string {
  const rounds = new Set(evidence.map(({ pair }) => pair.round));
  const usual =
    cohort === undefined
      ? 'no bandwidths'
      : `usual ${figure(cohort.usual(-1))} GiB/s, spread ${(100 * cohort.spread).toFixed(0)} %`;
  const groups = cohort?.split ? ', in two groups; the slower one gets no verdict by bandwidth' : '';
  return `${evidence.length} pairs in ${rounds.size} rounds, ${reports} of ${size} reports; ${usual}${groups}`;
}
