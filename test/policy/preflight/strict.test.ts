import { describe, expect, it } from '@jest/globals';
import type { NodeJudgement, PairTest, PreflightReport } from '../../../contract/preflight/preflight.ts';
import { judgeStrict } from '../../../policy/preflight/strict.ts';
import { addressOf, nodeOf, reportsOf } from '../../support/preflight-reports.ts';

const basis = (size: number) => ({ size, threshold: 20 });
const cohort = (size: number, slow: readonly number[] = [], broken: readonly number[] = []): PreflightReport[] =>
  reportsOf({ size, slow, broken }).map(({ report }) => report);
const named = (nodes: readonly NodeJudgement[], ...verdicts: readonly NodeJudgement['verdict'][]): string[] =>
  nodes.filter(({ verdict }) => verdicts.includes(verdict)).map(({ node }) => node);
const abnormal = (reports: readonly PreflightReport[], size = reports.length): string[] =>
  named(judgeStrict(reports, basis(size)).nodes, 'failed', 'slow');
const pair = (...tests: readonly (readonly PairTest[])[]): PreflightReport[] =>
  tests.map((each, rank) => ({ size: tests.length, rank, node: nodeOf(rank), address: addressOf(rank), tests: each }));

describe('the strict rule', () => {
  it('finds the node that is in a failed pair of every round, and says which pairs', () => {
    const judgement = judgeStrict(cohort(8, [5]), basis(8));
    expect(judgement).toMatchObject({ rule: 'strict', confidence: 1, because: 'a pair failed in 5 of 5 rounds' });
    expect(judgement.nodes.map(({ verdict }) => verdict)).toEqual([
      'healthy',
      'healthy',
      'healthy',
      'healthy',
      'healthy',
      'slow',
      'healthy',
      'healthy',
    ]);
    expect(judgement.nodes[5]).toMatchObject({
      node: 'gpu-5',
      rank: 5,
      because: 'a pair of it failed in each of the 5 rounds in which any did',
    });
    expect(judgement.nodes[5]?.pairs).toHaveLength(5);
    expect(judgement.nodes[5]?.pairs[0]).toMatch(/^round \d with gpu-\d: measured at 9\.500 GiB\/s, below 20$/);
  });

  it('takes the threshold that a report names before that of the settings', () => {
    const lenient = cohort(8, [5]).map((report) => ({ ...report, threshold: 5 }));
    expect(abnormal(lenient)).toEqual([]);
    const demanding = lenient.map((report) => (report.rank === 0 ? { ...report, threshold: 1000 } : report));
    expect(abnormal(demanding)).toEqual(['gpu-0']);
  });

  it('blames no node while a round has no failed pair, unless a node has failed', () => {
    const without = (round: number) =>
      cohort(4, [2]).map((report) => ({ ...report, tests: report.tests.filter((test) => test.round !== round) }));
    expect(abnormal(without(1))).toEqual([]);
    const broken = without(1).map((report): PreflightReport =>
      report.rank === 0 ? { ...report, failed: ['storage'], tests: [] } : report,
    );
    expect(abnormal(broken)).toEqual(['gpu-0', 'gpu-2']);
  });

  it('takes what could not be tested for failed', () => {
    const skips = cohort(4).map((report) => ({
      ...report,
      tests: report.tests.map((test): PairTest => (report.rank === 1 ? { round: test.round, status: 'skip' } : test)),
    }));
    const { nodes } = judgeStrict(skips, basis(4));
    expect(named(nodes, 'slow')).toEqual(['gpu-1']);
    expect(nodes[1]).toMatchObject({
      confidence: 0.5,
      pairs: ['round 0 alone: skipped', 'round 1 alone: skipped', 'round 2 alone: skipped'],
    });
  });

  it('takes a report without a round that counts for a failure, and says that it is not sure', () => {
    const late = cohort(8).map((report) =>
      report.rank === 3
        ? { ...report, tests: report.tests.map((test) => ({ ...test, round: test.round + 5 })) }
        : report,
    );
    expect(judgeStrict(late, basis(8)).nodes[3]).toMatchObject({
      verdict: 'failed',
      confidence: 0.5,
      because: 'it has no usable round',
    });
  });

  it('blames both of two nodes, not knowing which', () => {
    const { nodes, confidence } = judgeStrict(
      pair([{ round: 0, peer: addressOf(1), status: 'fail' }], [{ round: 0, peer: addressOf(0), status: 'ok' }]),
      basis(2),
    );
    expect(nodes.map(({ verdict, confidence: sure }) => [verdict, sure])).toEqual([
      ['slow', 0.5],
      ['slow', 0.5],
    ]);
    expect(confidence).toBe(0.5);
  });

  it('says that it does not know a node of which no pair passed and which it does not blame', () => {
    const reports = cohort(4, [2]).slice(0, 1);
    expect(judgeStrict(reports, basis(4)).nodes).toMatchObject([{ verdict: 'healthy' }]);
    const onlyFailed = pair(
      [{ round: 0, peer: addressOf(1), status: 'fail' }],
      [{ round: 0, peer: addressOf(0), status: 'fail' }],
    );
    expect(named(judgeStrict(onlyFailed, basis(4)).nodes, 'undetermined')).toEqual(['gpu-0', 'gpu-1']);
  });

  it('judges an address that belongs to no report under its own name', () => {
    const moved = cohort(4, [2]).map((report) => (report.rank === 2 ? { ...report, address: '' } : report));
    const tested = moved.map((report) => ({
      ...report,
      tests: report.tests.map((test) => (report.rank === 2 ? { ...test, self: addressOf(2) } : test)),
    }));
    const { nodes } = judgeStrict(tested, basis(4));
    expect(nodes.at(-1)).toMatchObject({ node: addressOf(2), rank: -1, verdict: 'slow' });
    expect(named(nodes, 'slow')).toEqual([addressOf(2)]);
  });

  it('gives an address that two reports claim to the lower rank, in whatever order they come', () => {
    const twice = cohort(4, [2]).map((report) => (report.rank === 3 ? { ...report, address: addressOf(2) } : report));
    expect(abnormal(twice)).toEqual(['gpu-2']);
    expect(abnormal(twice.toReversed())).toEqual(['gpu-2']);
  });

  it('says the same of reports in any order', () => {
    for (let turn = 0; turn < 8; turn++) {
      const reports = cohort(8, [turn, (turn * 3) % 8], turn % 2 === 0 ? [7 - turn] : []);
      const turned = [...reports.slice(turn), ...reports.slice(0, turn)];
      expect(judgeStrict(turned, basis(8))).toEqual(judgeStrict(reports, basis(8)));
      expect(judgeStrict(reports.toReversed(), basis(8))).toEqual(judgeStrict(reports, basis(8)));
    }
  });

  it('judges each node once, though two ranks run on it', () => {
    const shared = cohort(4, [2]).map((report) => (report.rank === 3 ? { ...report, node: nodeOf(2) } : report));
    expect(judgeStrict(shared, basis(4)).nodes.map(({ node, rank }) => [node, rank])).toEqual([
      ['gpu-0', 0],
      ['gpu-1', 1],
      ['gpu-2', 2],
    ]);
  });

  it('has no verdict without reports', () =>
    expect(judgeStrict([], basis(4))).toMatchObject({ nodes: [], confidence: 0 }));
});
