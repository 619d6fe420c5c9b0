import { describe, expect, it } from '@jest/globals';
import { mostSuspects, readRankLog, suspectsOf } from '../../../faults/logs/suspects.ts';

const time = (second: number): string => new Date(Date.UTC(2026, 10, 22, 12, 0, second)).toISOString();

/** The lines of a watchdog, as they are in the log of a rank that waited for `sequence`. */
const waited = (rank: number, sequence = 500, enqueued = sequence): string[] => [
  `${time(600)} [rank${rank}]:[E1122 12:10:00.0 ProcessGroupNCCL.cpp:632] [Rank ${rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=${sequence}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600000 milliseconds before timing out.`,
  `${time(600)} [rank${rank}]:[E1122 12:10:00.0 ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID 0(default_pg) Rank ${rank}]  failure detected by watchdog at work sequence id: ${sequence} PG status: last enqueued work: ${enqueued}, last completed work: ${sequence - 1}`,
];

/** What a rank prints that is notified of the timeout from another one. */
const notified = (rank: number, enqueued: number): string[] => [
  `${time(601)} [rank${rank}]:[E1122 12:10:01.0 ProcessGroupNCCL.cpp:1987] [PG ID 0 PG GUID 0(default_pg) Rank ${rank}] Received a dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: ${enqueued}, last completed NCCL work: ${enqueued}.This is most likely`,
];

const log = (rank: number, lines: readonly string[], cut = false) =>
  readRankLog({ pod: `llm-${rank}`, node: `gpu-${rank}` }, [`${time(0)} trains`, ...lines], { cut });

describe('who broke a collective', () => {
  it('is suspected to be the rank that printed no watchdog line, and never the one that printed first', () => {
    expect(suspectsOf([log(0, waited(0)), log(1, waited(1)), log(2, []), log(3, waited(3))])).toEqual([
      {
        pod: 'llm-2',
        node: 'gpu-2',
        because: 'no watchdog line, while 3 of 4 logs have one: it did not wait as they did',
      },
    ]);
  });

  it('is suspected to be the rank that began fewer collectives than the others', () => {
    expect(suspectsOf([log(0, waited(0)), log(1, waited(1)), log(2, notified(2, 499)), log(3, waited(3))])).toEqual([
      {
        pod: 'llm-2',
        node: 'gpu-2',
        rank: 2,
        because: 'rank 2 began collective 499 of process group 0 (default_pg) as its last, others came to 500',
      },
    ]);
  });

  it('is no rank where all are equally far', () => {
    expect(suspectsOf([0, 1, 2, 3].map((rank) => log(rank, waited(rank))))).toEqual([]);
  });

  it('is no rank where more than half are behind or silent, because then the few are not those who are missing', () => {
    expect(suspectsOf([log(0, waited(0)), log(1, notified(1, 499)), log(2, notified(2, 499))])).toEqual([]);
    expect(suspectsOf([log(0, waited(0)), log(1, []), log(2, [])])).toEqual([]);
    expect(suspectsOf([log(0, []), log(1, [])])).toEqual([]);
    expect(suspectsOf([])).toEqual([]);
  });

  it('is no rank where too many are suspected', () => {
    const many = Array.from({ length: mostSuspects + 1 }, (_, rank) => log(rank, []));
    const others = Array.from({ length: 20 }, (_, rank) => log(rank + 50, waited(rank + 50)));
    expect(suspectsOf([...many, ...others])).toEqual([]);
    expect(suspectsOf([...many.slice(1), ...others])).toHaveLength(mostSuspects);
  });

  it('compares numbers of one process group only', () => {
    const inGroup = (rank: number, guid: number, enqueued: number) =>
      log(rank, [
        `${time(600)} [rank${rank}]:[E ProcessGroupNCCL.cpp:2271] [PG ID 3 PG GUID ${guid}(dp) Rank 0]  failure detected by watchdog at work sequence id: 5 PG status: last enqueued work: ${enqueued}, last completed work: 4`,
      ]);
    expect(suspectsOf([inGroup(0, 7, 5), inGroup(1, 8, 900), inGroup(2, 9, 5)])).toEqual([]);
    expect(suspectsOf([inGroup(0, 7, 5), inGroup(1, 7, 900), inGroup(2, 7, 900)])).toMatchObject([{ rank: 0 }]);
  });

  it('takes silence for a sign only where the log goes back to the first report', () => {
    const others = [0, 1, 3].map((rank) => log(rank, waited(rank)));
    const end = (second: number) =>
      readRankLog({ pod: 'llm-2' }, [`${time(second)} trains`, `${time(700)} trains`], { cut: true });
    expect(suspectsOf([...others, end(599)])).toMatchObject([{ pod: 'llm-2' }]);
    expect(suspectsOf([...others, end(650)])).toEqual([]);
    expect(suspectsOf([...others, readRankLog({ pod: 'llm-2' }, ['without times'], { cut: true })])).toEqual([]);
  });

  it.each([
    [-11, 'signal 11', true],
    [1, 'exit code 1', true],
    [-6, 'signal 6', false],
    [-15, 'signal 15', false],
    [-9, 'signal 9', false],
  ])('is suspected to be the first failure that torchrun saw, where it is no echo: %d', (exitCode, words, is) => {
    const report = [
      `${time(602)} Root Cause (first observed failure):`,
      `${time(602)} [0]:`,
      `${time(602)}   host      : gpu-5`,
      `${time(602)}   rank      : 42 (local_rank: 2)`,
      `${time(602)}   exitcode  : ${exitCode} (pid: 17)`,
    ];
    const found = suspectsOf([log(5, report)]);
    const because = `torchrun saw rank 42 fail first on its node: ${words}`;
    expect(found).toEqual(is ? [{ pod: 'llm-5', node: 'gpu-5', rank: 42, because }] : []);
  });

  it('names each rank once', () => {
    const twice = [...notified(2, 499), ...notified(2, 499)];
    expect(suspectsOf([log(0, waited(0)), log(1, waited(1)), log(2, twice)])).toHaveLength(1);
  });
});
