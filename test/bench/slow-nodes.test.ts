import { describe, expect, it } from '@jest/globals';
import { runCell } from '../../bench/slow-nodes-cells.ts';
import { rack, reportsOf, scattered, testRounds } from '../../bench/slow-nodes-fleet.ts';
import { counted, figuresOf, foundAtOneInAThousand, nothing } from '../../bench/slow-nodes-score.ts';
import type { NodeJudgement } from '../../contract/preflight/preflight.ts';
import { randomFrom } from '../../policy/preflight/pairing.ts';

const noise = { falseSlow: 0, falseHealthy: 0, sigma: 0, slowTo: 0.6, reports: 'bandwidths' } as const;
const node = (rank: number, verdict: NodeJudgement['verdict']): NodeJudgement => ({
  node: `gpu-${rank}`,
  rank,
  verdict,
  confidence: 1,
  because: '',
  pairs: [],
});

describe('the score of verdicts', () => {
  it('counts an undetermined slow node as missed, and a healthy one that is called slow as blamed', () => {
    const one = counted(
      nothing,
      { nodes: [node(0, 'slow'), node(1, 'undetermined'), node(2, 'slow'), node(3, 'healthy')] },
      new Set([0, 1]),
      5,
    );
    const two = counted(one, { nodes: [node(0, 'slow'), node(1, 'slow')] }, new Set([0, 1]), 3);
    expect(figuresOf(two)).toMatchObject({
      jobs: 2,
      recall: { share: 0.75, of: 4 },
      precision: { share: 0.75, of: 4 },
      right: { share: 0.5 },
      blameless: { share: 0.5 },
      blamed: 0.5,
      undetermined: 0.5,
      rounds: 4,
    });
  });

  it('draws the line where one in a thousand healthy nodes would be blamed', () => {
    const healthy = Array.from({ length: 2000 }, (_, index) => index / 2000);
    expect(foundAtOneInAThousand([0.9, 0.9984, 0.9995, 1], healthy).share).toBe(0.5);
  });
});

describe('a simulated fleet', () => {
  it('has as many slow nodes as asked, anywhere or in a row', () => {
    expect(scattered(64, 4, randomFrom('a')).size).toBe(4);
    const block = [...rack(64, 8, randomFrom('a'))];
    expect(block.map((rank, index) => rank - index)).toEqual(Array.from({ length: 8 }, () => block[0]));
  });

  it('measures a pair as its slower end, and reports it from both ends', () => {
    const reports = reportsOf(testRounds({ size: 8, slow: new Set([3]), noise }, { rounds: 'fixed', most: 5 }, 'a'));
    expect(reports[3]?.tests.map(({ gbps }) => gbps)).toEqual([60, 60, 60, 60, 60]);
    expect(reports[0]?.tests.filter(({ gbps }) => gbps === 60).map(({ peer }) => peer)).toEqual(
      reports[0]?.tests.filter(({ peer }) => peer === reports[3]?.address).map(({ peer }) => peer),
    );
  });

  it('gives both rules the same measurements, and the same figures every time', () => {
    const cell = { size: 16, slow: 2, where: 'scattered', flips: 0.05, reports: 'bandwidths' } as const;
    const figures = runCell(cell, 6, true);
    expect(runCell(cell, 6, true)).toEqual(figures);
    expect(figures.statistical.recall.share).toBeGreaterThan(figures.strict.recall.share);
  });
});
