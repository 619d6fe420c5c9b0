import { describe, expect, it } from '@jest/globals';
import { preflightLimits, type ReportField, reportFields } from '../../contract/preflight/preflight.ts';
import { type ProfileName, profileNames, readReport, reportProfiles } from '../../faults/preflight/report.ts';
import { type Raw, rawBatch, rawReport, without } from '../support/raw-reports.ts';

const fieldOf = (source: unknown, profile: ProfileName = 'live'): ReportField | 'none' => {
  const found = readReport(source, reportProfiles[profile]);
  return found.kind === 'problem' ? found.field : 'none';
};
const withBatch = (more: Raw): Raw => rawReport({ batches: [rawBatch(more)] });
const withThreshold = (threshold: unknown): Raw => rawReport({ node_check_busbw_threshold_gbps: threshold });

/** What no profile takes. */
const refused: readonly (readonly [string, ReportField, unknown])[] = [
  ['no text', 'parse', ''],
  ['text that is no JSON', 'parse', '{"workload_size": 4'],
  ['a list', 'parse', []],
  ['a number', 'parse', 4],
  ['null', 'node_name', null],
  ['a size that is a text', 'parse', rawReport({ workload_size: '4' })],
  ['a size that is no whole number', 'parse', rawReport({ workload_size: 4.5 })],
  ['a size that is spelled as a fraction', 'parse', '{"workload_size": 4.0, "node_name": "gpu-0"}'],
  ['a size that no integer holds', 'parse', rawReport({ workload_size: 1e300 })],
  ['a rank that is a text', 'parse', rawReport({ rank: '0' })],
  ['a check that is a text', 'parse', rawReport({ gpu_check: '2' })],
  ['a check that is true', 'parse', rawReport({ storage_check: true })],
  ['a version that is a text', 'parse', rawReport({ version: '1' })],
  ['an address that is a number', 'parse', rawReport({ node_ip: 5 })],
  ['a name that is a number', 'parse', rawReport({ node_name: 5 })],
  ['no name', 'node_name', without(rawReport(), 'node_name')],
  ['an empty name', 'node_name', rawReport({ node_name: '' })],
  ['no size', 'workload_size', without(rawReport(), 'workload_size')],
  ['size 0', 'workload_size', rawReport({ workload_size: 0 })],
  ['a negative size', 'workload_size', rawReport({ workload_size: -4 })],
  ['a threshold that is a number', 'threshold', withThreshold(5)],
  ['a threshold that is null', 'threshold', withThreshold(null)],
  ['a threshold that is a word', 'threshold', withThreshold('five')],
  ['a negative threshold', 'threshold', withThreshold('-1')],
  ['a threshold beyond all numbers', 'threshold', withThreshold('1e999')],
  ['a batch that is a text', 'batch', rawReport({ batches: ['x'] })],
  ['a batch that is null', 'batch', rawReport({ batches: [null] })],
  ['a batch that is a list', 'batch', rawReport({ batches: [[]] })],
  ...[undefined, null, '', 'zero', true, -1, 0.5, 'NaN', [0]].map(
    (index) => [`batch_idx ${JSON.stringify(index)}`, 'batch_idx', withBatch({ batch_idx: index })] as const,
  ),
  [
    'a round that stands there twice',
    'duplicate_batch_idx',
    rawReport({ batches: [rawBatch(), rawBatch({ batch_idx: '0' })] }),
  ],
  ...[
    undefined,
    null,
    'ab',
    [],
    ['10.0.0.1'],
    ['10.0.0.1', ''],
    ['10.0.0.1', 2],
    ['10.0.0.1', '10.0.0.2', '10.0.0.3'],
  ].map((pair) => [`pair ${JSON.stringify(pair)}`, 'pair', withBatch({ pair })] as const),
  ...['', null, 5, '10.0.0.3'].map(
    (self) => [`self_ip ${JSON.stringify(self)}`, 'self_ip', withBatch({ self_ip: self })] as const,
  ),
  [
    'a pair without its reporter',
    'self_ip',
    rawReport({ node_ip: '10.0.0.9', batches: [without(rawBatch(), 'self_ip')] }),
  ],
  ...['allreduce_ms', 'allreduce_shape', 'dtype_bytes', 'world_size'].map(
    (name) => [`no ${name}`, 'performance', rawReport({ batches: [without(rawBatch(), name)] })] as const,
  ),
  ['a duration that is a word', 'performance', withBatch({ allreduce_ms: 'fast' })],
  ['half a rank', 'performance', withBatch({ world_size: 16.5 })],
];

const long = `${'1'.repeat(150_000)}x`;

describe('a number of very many characters', () => {
  it.each<[sentence: string, source: Raw, because: string]>([
    ['a threshold', withThreshold(long), 'node_check_busbw_threshold_gbps is not a number'],
    ['a round', withBatch({ batch_idx: long }), 'batch_idx is not a whole number'],
    ['a duration', withBatch({ allreduce_ms: long }), 'allreduce_ms is not a number'],
    ['a count of ranks', withBatch({ world_size: long }), 'world_size is not a number'],
  ])('is refused as %s, and the reason says how long it is', (_, source, because) => {
    expect(readReport(source, reportProfiles.live)).toMatchObject({
      kind: 'problem',
      because: `${because}: it has 150001 characters, at most 64 are read`,
    });
  });
});

describe('a report that cannot be used', () => {
  it.each(refused)('%s is a problem of %s', (_what, field, source) => {
    expect(profileNames.map((profile) => fieldOf(source, profile))).toEqual(profileNames.map(() => field));
  });

  it.each([
    [
      'an odd size',
      rawReport({ workload_size: 3 }),
      {
        seed: 'none',
        v008: 'odd_workload_size',
        v012: 'odd_workload_size',
        recommended: 'odd_workload_size',
        live: 'none',
      },
    ],
    [
      'a single rank',
      rawReport({ workload_size: 1 }),
      {
        seed: 'workload_size',
        v008: 'odd_workload_size',
        v012: 'odd_workload_size',
        recommended: 'odd_workload_size',
        live: 'none',
      },
    ],
    [
      '10,002 ranks',
      rawReport({ workload_size: 10_002 }),
      { seed: 'none', v008: 'none', v012: 'workload_size', recommended: 'workload_size', live: 'workload_size' },
    ],
    [
      'threshold 0',
      withThreshold('0'),
      { seed: 'threshold', v008: 'threshold', v012: 'none', recommended: 'none', live: 'none' },
    ],
    [
      'a blank threshold',
      withThreshold(' '),
      { seed: 'threshold', v008: 'threshold', v012: 'none', recommended: 'none', live: 'none' },
    ],
    [
      'white space around a threshold',
      withThreshold(' 5\n'),
      { seed: 'threshold', v008: 'threshold', v012: 'none', recommended: 'none', live: 'none' },
    ],
    [
      'an infinite threshold',
      withThreshold('+Inf'),
      { seed: 'none', v008: 'none', v012: 'none', recommended: 'threshold', live: 'threshold' },
    ],
    [
      'threshold NaN',
      withThreshold('nan'),
      { seed: 'none', v008: 'none', v012: 'none', recommended: 'threshold', live: 'threshold' },
    ],
    [
      'duration NaN',
      withBatch({ allreduce_ms: 'NaN' }),
      { seed: 'none', v008: 'none', v012: 'none', recommended: 'none', live: 'performance' },
    ],
    [
      'an endless duration',
      withBatch({ allreduce_ms: 'Inf' }),
      { seed: 'none', v008: 'none', v012: 'none', recommended: 'none', live: 'performance' },
    ],
    [
      'a bandwidth beyond reason',
      withBatch({ allreduce_ms: 1e-9 }),
      { seed: 'none', v008: 'none', v012: 'none', recommended: 'none', live: 'performance' },
    ],
    [
      'a rank outside of the size',
      rawReport({ rank: 4 }),
      { seed: 'none', v008: 'none', v012: 'none', recommended: 'none', live: 'layout' },
    ],
  ] as const)('%s depends on the version', (_what, source, expected) => {
    expect(Object.fromEntries(profileNames.map((profile) => [profile, fieldOf(source, profile)]))).toEqual(expected);
  });

  it('is one whose texts are longer than is kept, where kcover collects', () => {
    const long = 'x'.repeat(preflightLimits.address + 1);
    expect(fieldOf(rawReport({ node_name: 'x'.repeat(254) }))).toBe('node_name');
    expect(fieldOf(rawReport({ node_ip: long }))).toBe('self_ip');
    expect(fieldOf(withBatch({ pair: ['10.0.0.1', long] }))).toBe('pair');
  });

  it('says why, in few words', () => {
    for (const [, , source] of refused) {
      const found = readReport(source, reportProfiles.live);
      expect(found.kind === 'problem' && found.because.length > 0 && found.because.length <= 200).toBe(true);
    }
    expect(reportFields).toEqual(expect.arrayContaining(refused.map(([, field]) => field)));
  });
});

describe('whatever is read', () => {
  it.each(profileNames)('holds only finite numbers, in profile %s', (profile) => {
    const strange = ['NaN', 'Inf', '-Inf', '1e308', '5', '1e-320', '0x1p4'];
    for (const threshold of strange) {
      for (const ms of strange) {
        const found = readReport(
          rawReport({ node_check_busbw_threshold_gbps: threshold, batches: [rawBatch({ allreduce_ms: ms })] }),
          reportProfiles[profile],
        );
        const numbers =
          found.kind === 'report'
            ? [found.report.threshold ?? 0, ...found.report.tests.map(({ gbps = 0 }) => gbps)]
            : [];
        expect(numbers.every(Number.isFinite)).toBe(true);
      }
    }
  });

  it('keeps no more than 100 characters of a reason where kcover collects, and none elsewhere', () => {
    const source = withBatch({ status: 'fail', reason: 'x'.repeat(1000), rc: 124 });
    const [live] = [readReport(source, reportProfiles.live)];
    expect(live.kind === 'report' && live.report.tests[0]?.because).toHaveLength(preflightLimits.because);
    expect(readReport(source, reportProfiles.recommended)).not.toHaveProperty('report.tests.0.because');
  });
});
