import { describe, expect, it } from '@jest/globals';
import type { PreflightJudgement, PairTest, PreflightReport } from '../../../contract/preflight/preflight.ts';
import { judgeStatistical } from '../../../policy/preflight/statistical.ts';

/** Result of a pair: GiB/s, or a status. */
type Word = number | PairTest['status'];
type Pair = readonly [round: number, a: number, b: number, word: Word];

const testOf = (round: number, peer: string, word: Word): PairTest =>
  typeof word === 'number' ? { round, peer, status: 'ok', gbps: word } : { round, peer, status: word };

/** Reports in which both ends of a pair have the same result. Ranks from `size` on have no report of their own. */
function reports(
  size: number,
  pairs: readonly Pair[],
  changes: Readonly<Record<number, Partial<PreflightReport>>> = {},
): PreflightReport[] {
  return Array.from({ length: size }, (_, rank) => ({
    size,
    rank,
    node: `gpu-${rank}`,
    address: `ip-${rank}`,
    tests: pairs.flatMap(([round, a, b, word]) =>
      a === rank ? [testOf(round, `ip-${b}`, word)] : b === rank ? [testOf(round, `ip-${a}`, word)] : [],
    ),
    ...changes[rank],
  }));
}

/** Rounds of the circle method: rank 0 stays, the others rotate. */
function circle(size: number, rounds: number, word: (a: number, b: number, round: number) => Word): Pair[] {
  const even = size + (size % 2);
  const at = (place: number, round: number): number => (place === 0 ? 0 : 1 + ((place - 1 + round) % (even - 1)));
  return Array.from({ length: rounds }, (_, round) =>
    Array.from({ length: even / 2 }, (_, place) => [at(place, round), at(even - 1 - place, round)] as const)
      .filter((pair) => pair.every((rank) => rank < size))
      .map(([a, b]): Pair => [round, a, b, word(a, b, round)]),
  ).flat();
}

/** Bandwidths around 100, a little different from pair to pair; of a pair with a slow rank 60. */
const slow =
  (...ranks: readonly number[]) =>
  (a: number, b: number, round: number): number =>
    (ranks.includes(a) || ranks.includes(b) ? 60 : 100) * (1 + 0.01 * Math.sin(a * 7 + b * 3 + round));

const judge = (of: readonly PreflightReport[], threshold = 0): PreflightJudgement =>
  judgeStatistical(of, { size: of[0]?.size ?? 0, threshold });
const ranksOf = ({ nodes }: PreflightJudgement, verdict: string): number[] =>
  nodes.filter((node) => node.verdict === verdict).map(({ rank }) => rank);
const verdicts = (judgement: PreflightJudgement): string[] => judgement.nodes.map(({ verdict }) => verdict);

describe('the statistical rule', () => {
  it('finds the slow node, with a confidence and the pairs that are evidence', () => {
    const judgement = judge(reports(8, circle(8, 5, slow(3))));
    expect(ranksOf(judgement, 'slow')).toEqual([3]);
    expect(ranksOf(judgement, 'healthy')).toHaveLength(7);
    expect(judgement.confidence).toBeGreaterThan(0.99);
    const found = judgement.nodes[3];
    expect(found).toMatchObject({
      node: 'gpu-3',
      because: 'slow or failed in 5 of 5 pairs, and its partners are not to blame',
    });
    expect(found?.pairs[0]).toMatch(/^round 0 with gpu-4: (59|60)\.\d GiB\/s, usual (99|100)/);
    expect(judgement.because).toMatch(
      /^20 pairs in 5 rounds, 8 of 8 reports; usual (99\.\d|100|101) GiB\/s, spread 2 %$/,
    );
  });

  it('compares with the run itself: the usual bandwidth needs no threshold, and a fast fabric hides nothing', () => {
    const fast = circle(8, 5, (a, b, round) => slow(3)(a, b, round) * 40);
    expect(ranksOf(judge(reports(8, fast), 5), 'slow')).toEqual([3]);
  });

  it.each([
    ['all bandwidths are equal', () => 100],
    ['one node is 0.1 % slower', (a: number, b: number) => (a === 3 || b === 3 ? 99.9 : 100)],
    ['one node is 2 % slower', (a: number, b: number) => (a === 3 || b === 3 ? 98 : 100)],
    ['one round is slower for all', (_a: number, _b: number, round: number) => (round === 2 ? 70 : 100)],
    [
      'one pair fails in one round',
      (a: number, b: number, round: number) => (round === 1 && (a === 3 || b === 3) ? 'fail' : 100),
    ],
  ] as const)('calls no node slow when %s', (_, word) => {
    const judgement = judge(reports(16, circle(16, 5, word)));
    expect(verdicts(judgement)).toEqual(Array.from({ length: 16 }, () => 'healthy'));
  });

  it('finds a slow node that one pair calls well, and does not convict one whom one pair calls slow', () => {
    const lie = (a: number, b: number, round: number): number =>
      round === 1 && (a === 3 || b === 3) ? 100 : round === 2 && (a === 9 || b === 9) ? 60 : slow(3)(a, b, round);
    expect(ranksOf(judge(reports(16, circle(16, 5, lie))), 'slow')).toEqual([3]);
  });

  it('works from words alone where there are no bandwidths', () => {
    const words = circle(8, 5, (a, b) => (a === 3 || b === 3 ? 'fail' : 'ok'));
    expect(ranksOf(judge(reports(8, words)), 'slow')).toEqual([3]);
  });

  it('adds an absolute floor: that of the report, or of the settings; 0 is none', () => {
    const same = reports(
      8,
      circle(8, 5, () => 4),
    );
    expect(ranksOf(judge(same, 0), 'healthy')).toHaveLength(8);
    expect(ranksOf(judge(same, 5), 'undetermined')).toHaveLength(8);
    expect(
      ranksOf(
        judge(
          same.map((report) => ({ ...report, threshold: 3 })),
          5,
        ),
        'healthy',
      ),
    ).toHaveLength(8);
  });

  it('takes the failure, or the smaller bandwidth, of either end', () => {
    const pairs = circle(8, 5, slow());
    const complains = (rank: number, word: Word): PreflightReport[] =>
      reports(8, pairs).map((report) =>
        report.rank === rank
          ? { ...report, tests: report.tests.map(({ round, peer = '' }) => testOf(round, peer, word)) }
          : report,
      );
    expect(ranksOf(judge(complains(3, 'fail')), 'slow')).toEqual([3]);
    expect(ranksOf(judge(complains(3, 50)), 'slow')).toEqual([3]);
    expect(ranksOf(judge(complains(3, 'skip')), 'slow')).toEqual([]);
  });

  it('does not judge a node that was not tested as failed', () => {
    const judgement = judge(
      reports(8, circle(8, 5, slow()), { 2: { tests: [] }, 5: { tests: [{ round: 0, status: 'skip' }] } }).slice(0, 7),
    );
    expect(judgement.nodes.map(({ rank }) => rank)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    const silent = judge(reports(2, [[0, 0, 1, 'skip']]));
    expect(silent.nodes).toMatchObject([
      { verdict: 'undetermined', because: 'none of its pairs could be tested', pairs: [] },
      { verdict: 'undetermined' },
    ]);
    expect(silent.confidence).toBe(0);
  });

  it('does not convict, nor clear, a node that met only slow ones', () => {
    const alone: readonly Pair[] = [...circle(8, 5, slow(1, 2)), [5, 1, 8, 60], [6, 2, 8, 60]];
    const judgement = judge(reports(9, alone));
    expect(ranksOf(judgement, 'slow')).toEqual([1, 2]);
    expect(judgement.nodes[8]).toMatchObject({
      verdict: 'undetermined',
      because: expect.stringContaining('its partners may be to blame'),
    });
  });

  it('is sure of a failed check, and lets a pair with such a node only clear its partner', () => {
    const broken = { 0: { failed: ['gpu'] as const } };
    const failing = judge(
      reports(
        4,
        [
          [0, 0, 1, 'fail'],
          [0, 2, 3, 100],
          [1, 0, 2, 'fail'],
        ],
        broken,
      ),
    );
    expect(failing.nodes[0]).toMatchObject({ verdict: 'failed', confidence: 1, because: 'its gpu check failed' });
    expect(verdicts(failing)).toEqual(['failed', 'undetermined', 'healthy', 'healthy']);
    expect(
      verdicts(
        judge(
          reports(
            4,
            [
              [0, 0, 1, 100],
              [0, 2, 3, 100],
            ],
            broken,
          ),
        ),
      ),
    ).toEqual(['failed', 'healthy', 'healthy', 'healthy']);
  });

  it('distinguishes two halves of the nodes when pairs report a failure', () => {
    const judgement = judge(
      reports(
        8,
        circle(8, 5, (a, b) => (a > 3 || b > 3 ? 'fail' : 'ok')),
      ),
    );
    expect(ranksOf(judgement, 'slow')).toEqual([4, 5, 6, 7]);
    expect(ranksOf(judgement, 'healthy')).toEqual([0, 1, 2, 3]);
  });

  it('convicts no node when more look slow than healthy', () => {
    const odd = [1, 3, 5, 7, 9, 11, 13];
    const bandwidths = judge(reports(16, circle(16, 5, slow(0, 2, 4, 6, 8, 10, 12, 14, 15))));
    expect(ranksOf(bandwidths, 'healthy').every((rank) => odd.includes(rank))).toBe(true);
    expect(ranksOf(bandwidths, 'undetermined')).toEqual(expect.arrayContaining([0, 2, 4, 6, 8, 10, 12, 14, 15]));
    expect(bandwidths.because).toMatch(/in two groups; the slower one gets no verdict by bandwidth$/);
    const words = judge(
      reports(
        16,
        circle(16, 5, (a, b) => (a > 2 || b > 2 ? 'fail' : 'ok')),
      ),
    );
    expect(ranksOf(words, 'slow')).toEqual([]);
    expect(ranksOf(words, 'healthy').every((rank) => rank <= 2)).toBe(true);
    const all = judge(
      reports(
        16,
        circle(16, 5, () => 'fail'),
      ),
    );
    expect(ranksOf(all, 'undetermined')).toHaveLength(16);
  });
});

describe('the statistical rule on small and odd runs', () => {
  it('cannot distinguish the two ends of the only pair', () => {
    expect(verdicts(judge(reports(2, [[0, 0, 1, 'fail']])))).toEqual(['undetermined', 'undetermined']);
    expect(verdicts(judge(reports(2, [[0, 0, 1, 100]])))).toEqual(['healthy', 'healthy']);
  });

  it.each([
    [3, 3],
    [4, 3],
    [5, 5],
    [7, 5],
    [9, 5],
  ])('finds the slow one of %i in %i rounds', (size, rounds) => {
    const judgement = judge(reports(size, circle(size, rounds, slow(1))));
    expect(ranksOf(judgement, 'slow')).toEqual([1]);
    expect(ranksOf(judgement, 'healthy')).toHaveLength(size - 1);
  });

  it('judges the few reports that came of many', () => {
    const few = reports(10_000, [
      [0, 0, 1, 100],
      [1, 1, 2, 100],
    ]).slice(0, 3);
    expect(judge(few)).toMatchObject({
      because: expect.stringContaining('3 of 10000 reports'),
      nodes: [{ verdict: 'healthy' }, { verdict: 'healthy' }, {}],
    });
  });

  it('has an answer for no reports at all', () => {
    expect(judgeStatistical([], { size: 4, threshold: 5 })).toMatchObject({ nodes: [], confidence: 0 });
  });
});

describe('the statistical rule on strange reports', () => {
  const well = circle(8, 5, slow());

  it('takes a number that is none for no test, and one that is not above 0 for a failure', () => {
    const odd = (gbps: number) =>
      judge(
        reports(8, well, {
          3: {
            tests: well
              .filter(([, a, b]) => a === 3 || b === 3)
              .map(([round, a, b]) => ({ round, peer: `ip-${a + b - 3}`, status: 'ok', gbps })),
          },
        }),
      );
    for (const gbps of [Number.NaN, Infinity, -Infinity]) expect(ranksOf(odd(gbps), 'healthy')).toHaveLength(8);
    for (const gbps of [0, -5]) expect(ranksOf(odd(gbps), 'slow')).toEqual([3]);
  });

  it('attributes a test to its reporter, even if another report claims its address, and drops tests against such an address', () => {
    const pairs = circle(8, 5, slow(3));
    const judgement = judge(reports(8, pairs, { 3: { address: 'ip-4' } }));
    // Partners of 3 name an address that no report claims, so only its own reports count: against all but 4's.
    expect(ranksOf(judgement, 'slow')).toEqual([3]);
    const doubled = judge(reports(8, circle(8, 5, slow()), { 3: { address: 'ip-4', tests: [] } }));
    expect(ranksOf(doubled, 'undetermined')).toEqual([3]);
    expect(ranksOf(doubled, 'healthy')).toHaveLength(7);
  });

  it('lets an address without a report take the blame, and does not name it', () => {
    const judgement = judge(reports(8, circle(8, 5, slow(3))).filter(({ rank }) => rank !== 3));
    expect(verdicts(judgement)).toEqual(Array.from({ length: 7 }, () => 'healthy'));
  });

  it('finds a node by the addresses that its tests name, and ignores a test against itself', () => {
    const elsewhere = reports(8, circle(8, 5, slow(3))).map((report) => ({
      ...report,
      address: '',
      tests: report.tests.map((test) => ({ ...test, self: report.address })),
    }));
    expect(ranksOf(judge(elsewhere), 'slow')).toEqual([3]);
    const itself = reports(4, circle(4, 3, slow()), { 1: { tests: [{ round: 0, peer: 'ip-1', status: 'fail' }] } });
    expect(ranksOf(judge(itself), 'healthy')).toHaveLength(4);
  });

  it('counts the last of two reports of one rank, and orders nodes by rank', () => {
    const all = reports(4, circle(4, 3, slow()));
    const twice = [...all.toReversed(), { ...(all[2] as PreflightReport), node: 'gpu-new' }];
    expect(judge(twice).nodes.map(({ node }) => node)).toEqual(['gpu-0', 'gpu-1', 'gpu-new', 'gpu-3']);
  });
});
