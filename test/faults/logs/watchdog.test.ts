import { describe, expect, it } from '@jest/globals';
import { eventsOf, linesOfSample } from './samples.ts';

const group = '0 (default_pg)';
const eventsIn = (sample: string) => eventsOf(linesOfSample(sample)).events;

describe('a watchdog of collectives', () => {
  it('says which collective timed out, and how far the rank was', () => {
    expect(eventsIn('watchdog')).toEqual([
      { kind: 'watchdog', what: 'timeout', rank: 0, sequence: 20_585, operation: 'ALLREDUCE' },
      {
        kind: 'watchdog',
        what: 'position',
        rank: 0,
        group,
        sequence: 20_585,
        lastEnqueued: 20_589,
        lastCompleted: 20_584,
      },
      { kind: 'watchdog', what: 'dump', rank: 0, group, lastEnqueued: 20_589, lastCompleted: 20_584 },
    ]);
  });

  it('says which rank reported a timeout to it', () => {
    expect(eventsIn('watchdog-dump')).toEqual([
      { kind: 'watchdog', what: 'dump', rank: 6, group, from: 7, lastEnqueued: 56_116, lastCompleted: 56_116 },
    ]);
  });

  it('is read as older versions print it, with a rank that is stuck', () => {
    expect(eventsIn('watchdog-older')).toEqual([
      { kind: 'watchdog', what: 'timeout', rank: 1, sequence: 158_046, operation: 'GATHER' },
      {
        kind: 'watchdog',
        what: 'position',
        rank: 1,
        sequence: 158_046,
        lastEnqueued: 158_046,
        lastCompleted: 158_045,
      },
      { kind: 'watchdog', what: 'stuck', rank: 25, group: '0' },
    ]);
  });

  it('of a group that is not that of all ranks has no rank of the job, unless the line begins with it', () => {
    const line =
      '[PG ID 3 PG GUID 25(dp_group) Rank 1]  failure detected by watchdog at work sequence id: 7 PG status: last enqueued work: 7, last completed work: -1';
    expect(eventsOf([line, `[rank9]:[E709 ProcessGroupNCCL.cpp:2271] ${line}`]).events).toEqual([
      { kind: 'watchdog', what: 'position', group: '25 (dp_group)', sequence: 7, lastEnqueued: 7, lastCompleted: -1 },
      {
        kind: 'watchdog',
        what: 'position',
        rank: 9,
        group: '25 (dp_group)',
        sequence: 7,
        lastEnqueued: 7,
        lastCompleted: -1,
      },
    ]);
  });

  it('of nvidia-resiliency-ext says which rank sends no heartbeat, and which section stays open', () => {
    expect(eventsIn('rank-monitor')).toEqual([
      { kind: 'watchdog', what: 'heartbeat', rank: 34 },
      { kind: 'watchdog', what: 'heartbeat', rank: 58 },
    ]);
    expect(eventsOf(["[Cycle 0] Section 'step' has been open for 61.20 seconds, longer than 60.00"]).events).toEqual([
      { kind: 'watchdog', what: 'section' },
    ]);
  });

  it.each(linesOfSample('watchdog').filter((line) => /Stack trace|First PG/.test(line)))(
    'says nothing with %s',
    (line) => {
      expect(eventsOf([line]).events).toEqual([]);
    },
  );
});

describe('the report of torchrun', () => {
  it('names the first failure on its node', () => {
    expect(eventsIn('torchrun')).toEqual([
      { kind: 'torchrun', rank: 0, localRank: 0, host: 'neptun.informatik.uni-kl.de', exitCode: -6 },
    ]);
  });

  it('is read through other lines, but not for ever', () => {
    const lines = linesOfSample('torchrun');
    const at = lines.indexOf('Root Cause (first observed failure):') + 3;
    const disturbed = (count: number) => [
      ...lines.slice(0, at),
      ...Array(count).fill('something else'),
      ...lines.slice(at),
    ];
    expect(eventsOf(disturbed(3)).events).toHaveLength(1);
    expect(eventsOf(disturbed(30)).events).toEqual([]);
  });
});

describe("Megatron's report of slow ranks", () => {
  it('is one event, although two of its lines name the slowest rank', () => {
    expect(eventsIn('megatron-straggler')).toEqual([{ kind: 'straggler', rank: 0 }]);
  });

  it('counts again when it is printed again', () => {
    const lines = linesOfSample('megatron-straggler');
    expect(eventsOf([...lines, ...lines]).events).toHaveLength(2);
    expect(eventsOf(lines.slice(1)).events).toEqual([{ kind: 'straggler', rank: 0 }]);
  });
});
