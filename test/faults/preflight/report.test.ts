import { describe, expect, it } from '@jest/globals';
import {
  type PairTest,
  preflightLimits,
  type PreflightReport,
  type ReportField,
} from '../../../contract/preflight/preflight.ts';
import { busbw, type ProfileName, profileNames, readReport, reportProfiles } from '../../../faults/preflight/report.ts';
import { rawBatch, rawReport, without } from '../../support/raw-reports.ts';

const read = (source: unknown, profile: ProfileName = 'live') => readReport(source, reportProfiles[profile]);
const fieldOf = (source: unknown, profile: ProfileName = 'live'): ReportField | undefined => {
  const found = read(source, profile);
  return found.kind === 'problem' ? found.field : undefined;
};
const reportOf = (source: unknown, profile: ProfileName = 'live'): PreflightReport => {
  const found = read(source, profile);
  if (found.kind === 'problem') throw new Error(`${found.field}: ${found.because}`);
  return found.report;
};
const testsOf = (batches: readonly unknown[], profile: ProfileName = 'live', more = {}): readonly PairTest[] =>
  reportOf(rawReport({ batches, ...more }), profile).tests;

describe('the bus bandwidth', () => {
  it.each([
    [16_777_216, 4, 1.234, 16, 94.97],
    [16_777_216, 4, 0.5, 16, 234.375],
    [16_777_216, 4, 30, 16, 3.906],
    [536_870_912, 4, 211.52, 16, 17.73],
  ])('of %d elements of %d bytes in %d ms by %d ranks is %d GiB/s', (shape, bytes, ms, ranks, gbps) =>
    expect(busbw(shape, bytes, ms, ranks)).toBeCloseTo(gbps, 2),
  );

  it('is exact where the reference project is', () => expect(busbw(268_435_456, 4, 200, 2)).toBe(5));
});

describe('a report', () => {
  it('is reduced to the fields that are used', () => {
    expect(reportOf(JSON.stringify(rawReport()))).toEqual({
      size: 4,
      rank: 0,
      node: 'gpu-0',
      address: '10.0.0.1',
      threshold: 5,
      tests: [{ round: 0, peer: '10.0.0.2', status: 'ok', gbps: 93.75 }],
    });
  });

  it('is the same as text and as a value, raw and compacted', () => {
    const compacted = ['version', 'workload'].reduce(without, rawReport());
    expect(reportOf(compacted)).toEqual(reportOf(JSON.stringify(rawReport())));
  });

  it.each(profileNames)('may hold null for what it does not say, in profile %s', (profile) => {
    expect(reportOf(rawReport({ rank: null, node_ip: null, gpu_check: null, batches: null }), profile)).toMatchObject({
      rank: 0,
      address: '',
      tests: [],
    });
  });

  it('says which checks failed, and then nothing else of it is looked at', () => {
    const broken = rawReport({
      gpu_check: 2,
      storage_check: 2,
      node_check_busbw_threshold_gbps: 7,
      batches: ['garbage'],
    });
    for (const profile of profileNames)
      expect(reportOf(broken, profile)).toMatchObject({ failed: ['gpu', 'storage'], tests: [] });
  });

  it('may be of a single rank, which has only its own checks', () => {
    const alone = { workload_size: 1, batches: [] };
    expect(reportOf(rawReport(alone))).toMatchObject({ size: 1, rank: 0, tests: [] });
    expect(reportOf(rawReport({ ...alone, gpu_check: 2 }))).toMatchObject({ size: 1, failed: ['gpu'] });
    for (const profile of profileNames.filter((name) => name !== 'live'))
      expect(fieldOf(rawReport(alone), profile)).toBeDefined();
  });

  it.each<[string, object, ReportField]>([
    ['an address that is none', { node_ip: '10.0.0.1\n' }, 'self_ip'],
    ['a node that has no name', { node_name: 'gpu 0' }, 'node_name'],
    ['a partner without an address', { batches: [rawBatch({ pair: ['10.0.0.1', '<b>'] })] }, 'pair'],
  ])('of a tenant may not have %s', (_sentence, more, field) => {
    expect(fieldOf(rawReport({ ...more }))).toBe(field);
    expect(fieldOf(rawReport({ ...more }), 'recommended')).toBeUndefined();
  });

  it('of a tenant gives its reasons in one plain line', () => {
    expect(testsOf([rawBatch({ status: 'fail', reason: 'a\u001b[31m\nb\u202ec' })])).toMatchObject([
      { because: 'a bc' },
    ]);
  });

  it('holds numbers as numbers or as texts', () => {
    const batch = rawBatch({
      batch_idx: '2',
      allreduce_ms: '2e1',
      world_size: '16',
      allreduce_shape: '268435456',
      dtype_bytes: '4',
    });
    expect(testsOf([batch])).toEqual([{ round: 2, peer: '10.0.0.2', status: 'ok', gbps: 93.75 }]);
  });

  it('names its own address in a pair where that is another than its node has', () => {
    expect(testsOf([rawBatch()], 'live', { node_ip: '192.168.0.1' })).toEqual([
      { round: 0, self: '10.0.0.1', peer: '10.0.0.2', status: 'ok', gbps: 93.75 },
    ]);
  });
});

describe('a measurement', () => {
  it.each([
    ['no time', { allreduce_ms: 0 }],
    ['negative time', { allreduce_ms: -3 }],
    ['no elements', { allreduce_shape: 0 }],
    ['no bytes', { dtype_bytes: 0 }],
    ['a single rank', { world_size: 1 }],
  ])('with %s is a failure', (_what, more) => {
    for (const profile of profileNames)
      expect(testsOf([rawBatch(more)], profile)).toEqual([{ round: 0, peer: '10.0.0.2', status: 'fail' }]);
  });

  it('is not needed where the pair failed, or where 0 switches the threshold off', () => {
    const unmeasured = without(rawBatch(), 'dtype_bytes');
    expect(testsOf([{ ...unmeasured, status: 'Fail' }])).toEqual([{ round: 0, peer: '10.0.0.2', status: 'fail' }]);
    for (const profile of ['v012', 'recommended', 'live'] as const) {
      const tests = testsOf([unmeasured], profile, { node_check_busbw_threshold_gbps: '0' });
      expect(tests).toEqual([{ round: 0, peer: '10.0.0.2', status: 'ok' }]);
    }
  });

  it('decides, whatever else the status says', () => {
    for (const status of ['ok', 'fine', '', 5, null])
      expect(testsOf([rawBatch({ status })])).toMatchObject([{ status: 'ok', gbps: 93.75 }]);
  });
});

describe('a skipped round', () => {
  const skipped = { batch_idx: 1, status: 'SKIP', reason: 'idle_roll_over', rc: 3 };

  it('is neutral where kcover collects, keeps its reason, and needs no partner', () => {
    expect(testsOf([skipped])).toEqual([{ round: 1, status: 'skip', because: 'idle_roll_over, exit code 3' }]);
  });

  it('blames the reporter alone where it names no pair, as the reference project has it', () => {
    expect(testsOf([{ ...skipped, self_ip: '10.0.0.9' }], 'v008')).toEqual([
      { round: 1, self: '10.0.0.9', status: 'skip' },
    ]);
    expect(fieldOf(rawReport({ batches: [skipped] }), 'v012')).toBe('self_ip');
    expect(fieldOf(rawReport({ batches: [skipped] }), 'seed')).toBe('pair');
  });

  it('names the pair, whichever end reports it', () => {
    expect(testsOf([{ ...skipped, pair: ['a', 'b'], self_ip: 5 }], 'v012')).toEqual([
      { round: 1, self: 'a', peer: 'b', status: 'skip' },
    ]);
  });
});

describe('rounds', () => {
  const rounds = Array.from({ length: 20 }, (_, round) => rawBatch({ batch_idx: round }));

  it.each([
    ['v008', 3],
    ['v012', 3],
    ['recommended', 3],
    ['live', preflightLimits.rounds],
  ] as const)('that do not count are left out in profile %s', (profile, count) =>
    expect(testsOf(rounds, profile)).toHaveLength(count),
  );

  it('that do not count are not looked at', () =>
    expect(testsOf([{ batch_idx: 17 }, { batch_idx: 17 }], 'recommended')).toEqual([]));

  it('that do not count refuse the report in the oldest profile', () =>
    expect(fieldOf(rawReport({ batches: rounds }), 'seed')).toBe('batch_idx'));
});
