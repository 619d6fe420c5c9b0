/** The strict rule: a node is slow if it was in a failed pair of every effective round. */

import type {
  PreflightJudgement,
  NodeJudgement,
  PairTest,
  PreflightReport,
} from '../../contract/preflight/preflight.ts';

/** Input of both rules beside the reports. */
export interface JudgementBasis {
  /** Ranks of the workload. */
  readonly size: number;
  /** GiB/s, for reports that set none. */
  readonly threshold: number;
}

/** The report of one end on one pair. */
interface Observation {
  readonly round: number;
  /** The same address twice: only the reporter. */
  readonly addresses: readonly [string, string];
  /** Names of nodes; the address where its node is unknown. */
  readonly ends: readonly [string, string];
  readonly passed: boolean;
  /** The pair was tested, not skipped. */
  readonly tested: boolean;
  readonly said: string;
}

/** Most rounds that the rule uses. */
const mostRounds = 5;

/**
 * The verdicts of the reference project: a node with a failed check, or without any round that counts, is `failed`. A round is effective when
 * either end reports a failed pair, and a node is slow if it was in a failed pair of every effective round; all rounds must be effective,
 * unless some node has failed. A skipped test counts as a failed pair.
 * The rule itself has no uncertainty. Added here: a node that is not blamed but has no passed pair is `undetermined`, and the confidence of a
 * blame is 0.5 where it has no failed pair with a node that is not blamed.
 * An address that belongs to no report gets a verdict under its own name, with rank -1. Of two ranks on one node the lower represents it.
 */
export function judgeStrict(
  reports: readonly PreflightReport[],
  { size, threshold }: JudgementBasis,
): PreflightJudgement {
  const rounds = Math.min(size - 1, mostRounds);
  const entries = reports.map((report) => entryOf(report, rounds)).toSorted(byRank);
  const broken = new Map(
    entries.filter(({ failure }) => failure !== undefined).map((entry) => [entry.report.node, entry]),
  );
  const names = namesOf(entries);
  const seen = entries
    .filter(({ failure }) => failure === undefined)
    .flatMap((entry) => observationsOf(entry, threshold, names));
  const found = blame(seen, broken.size > 0 ? 1 : rounds, names);

  const ranks = new Map<string, number>();
  for (const { report } of entries) if (!ranks.has(report.node)) ranks.set(report.node, report.rank);
  const strangers = [...found.blamed].filter((name) => !ranks.has(name)).toSorted();
  const nodes = [
    ...[...ranks].map(([node, rank]) => broken.get(node)?.failure ?? judged(node, rank, found)),
    ...strangers.map((address) => judged(address, -1, found)),
  ];
  const sure = nodes.filter(({ verdict }) => verdict !== 'undetermined').map(({ confidence }) => confidence);
  return {
    rule: 'strict',
    nodes,
    because: `a pair failed in ${found.effective} of ${rounds} rounds${broken.size > 0 ? `, and ${broken.size} nodes failed without a round` : ''}`,
    confidence: sure.length === 0 ? 0 : Math.min(...sure),
  };
}

interface RankEntry {
  readonly report: PreflightReport;
  /** Tests of the rounds that count. */
  readonly tests: readonly PairTest[];
  /** Set when the report itself says that the node failed; its tests are ignored then. */
  readonly failure: NodeJudgement | undefined;
}

function entryOf(report: PreflightReport, rounds: number): RankEntry {
  const tests = report.tests.filter(({ round }) => round < rounds);
  const { node, rank, failed = [] } = report;
  const broken = { node, rank, verdict: 'failed', pairs: [] } as const;
  if (failed.length > 0)
    return {
      report,
      tests,
      failure: { ...broken, confidence: 1, because: `its ${failed.join(' and ')} check failed` },
    };
  return {
    report,
    tests,
    failure: tests.length > 0 ? undefined : { ...broken, confidence: unsure, because: 'it has no usable round' },
  };
}

const unsure = 0.5;

const byRank = (a: RankEntry, b: RankEntry): number =>
  a.report.rank - b.report.rank || Number(a.report.node > b.report.node) - Number(a.report.node < b.report.node);

/** Nodes by their addresses; an address that two reports claim belongs to the lower rank. */
const namesOf = (entries: readonly RankEntry[]): ReadonlyMap<string, string> =>
  new Map(
    entries.toReversed().flatMap(({ report: { address, node } }) => (address === '' ? [] : [[address, node] as const])),
  );

const words = { ok: 'measured', fail: 'failed', skip: 'skipped' } as const satisfies Record<PairTest['status'], string>;

function observationsOf(
  { report, tests }: RankEntry,
  threshold: number,
  names: ReadonlyMap<string, string>,
): Observation[] {
  const floor = report.threshold ?? threshold;
  return tests.flatMap(({ round, self = report.address, peer = self, status, gbps, because }) => {
    if (self === '') return [];
    const [one, other] = [names.get(self) ?? self, names.get(peer) ?? peer];
    const passed = status === 'ok' && !(gbps !== undefined && gbps < floor);
    const bandwidth = gbps === undefined ? '' : ` at ${gbps.toPrecision(4)} GiB/s`;
    const said = `${words[status]}${bandwidth}${status === 'ok' && !passed ? `, below ${floor}` : ''}${because === undefined ? '' : ` (${because})`}`;
    return [{ round, addresses: [self, peer], ends: [one, other], passed, tested: status !== 'skip', said } as const];
  });
}

interface BlameSet {
  readonly blamed: ReadonlySet<string>;
  /** Rounds with a failed pair. */
  readonly effective: number;
  readonly of: ReadonlyMap<string, readonly Observation[]>;
}

/** Nodes in a failed pair of every effective round; none when fewer than `least` rounds are effective. */
function blame(seen: readonly Observation[], least: number, names: ReadonlyMap<string, string>): BlameSet {
  const failed = new Map<number, Set<string>>();
  const of = new Map<string, Observation[]>();
  for (const one of seen) {
    for (const end of new Set(one.ends)) of.set(end, [...(of.get(end) ?? []), one]);
    if (one.passed) continue;
    const ends = failed.get(one.round) ?? new Set();
    for (const address of one.addresses) ends.add(address);
    failed.set(one.round, ends);
  }
  const [first = new Set<string>(), ...rest] = failed.values();
  const common = failed.size < least ? [] : rest.reduce((left, round) => left.intersection(round), first);
  return { blamed: new Set([...common].map((address) => names.get(address) ?? address)), effective: failed.size, of };
}

function judged(node: string, rank: number, { blamed, effective, of }: BlameSet): NodeJudgement {
  const seen = of.get(node) ?? [];
  const pairs = (passed: boolean): string[] =>
    [...new Set(seen.filter((one) => one.passed === passed).map((one) => pairText(one, node)))].slice(0, 5);
  if (blamed.has(node)) {
    const witnessed = seen.some(
      ({ passed, tested, ends }) => !passed && tested && ends.some((end) => !blamed.has(end)),
    );
    const because = `a pair of it failed in ${effective === 1 ? 'the only round' : `each of the ${effective} rounds`} in which any did`;
    return { node, rank, verdict: 'slow', confidence: witnessed ? 1 : unsure, because, pairs: pairs(false) };
  }
  if (seen.some(({ passed }) => passed))
    return { node, rank, verdict: 'healthy', confidence: 1, because: 'a pair of it passed', pairs: pairs(true) };
  const because =
    seen.length === 0
      ? 'no pair of it is known'
      : 'no pair of it passed, but rounds are missing or other nodes explain that';
  return { node, rank, verdict: 'undetermined', confidence: unsure, because, pairs: pairs(false) };
}

function pairText({ round, ends, said }: Observation, node: string): string {
  const other = ends.find((end) => end !== node);
  return `round ${round} ${other === undefined ? 'alone' : `with ${other}`}: ${said}`;
}
