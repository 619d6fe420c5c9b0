import { describe, expect, it } from '@jest/globals';
import type { PairTest, PreflightReport } from '../../contract/preflight/preflight.ts';
import { preflightFiles } from '../../contract/preflight/files.schema.ts';

const pair: PairTest = { round: 0, self: '10.0.0.1', peer: '10.0.0.2', status: 'ok', gbps: 94.97, because: 'passed' };
const report: PreflightReport = {
  size: 4,
  rank: 1,
  node: 'gpu-1',
  address: '10.0.0.1',
  failed: ['gpu'],
  threshold: 5,
  tests: [pair],
};
const place = { namespace: 'train', workload: 'llm', rank: 1, writtenAt: '2026-11-21T07:00:00.123Z' };
const file = { ...place, report };
const problem = { ...place, problem: { field: 'too-large', because: '2097152 bytes' } };
const body = (...files: unknown[]) => ({ schema: 1, node: 'gpu-1', sentAt: '2026-11-21T07:00:01.000Z', files });
const withReport = (more: object) => body({ ...place, report: { ...report, ...more } });
const withPair = (more: object) => withReport({ tests: [{ ...pair, ...more }] });
const takes = (value: unknown): boolean => preflightFiles.safeParse(value).success;

describe('preflight files of an agent', () => {
  it.each<[string, unknown]>([
    ['a report', body(file)],
    ['a problem', body(problem)],
    [
      'a problem of any field of a report',
      body({ ...place, problem: { field: 'odd_workload_size', because: 'it is 5' } }),
    ],
    ['a report with nothing in it', withReport({ tests: [], address: '' })],
    ['a test without a partner', withReport({ tests: [{ round: 3, status: 'skip' }] })],
    ['no files at all', body()],
    ['50 files', body(...Array.from({ length: 50 }, () => file))],
    ['addresses of every kind', withPair({ self: 'fe80::1%eth0', peer: '[2001:db8::1]:29400' })],
    ['a threshold that is switched off', withReport({ threshold: 0 })],
  ])('may be %s', (_sentence, value) => {
    expect(takes(value)).toBe(true);
  });

  it.each<[string, unknown]>([
    ['51 files', body(...Array.from({ length: 51 }, () => file))],
    ['a report and a problem', body({ ...file, ...problem })],
    ['neither a report nor a problem', body(place)],
    ['another schema', { ...body(file), schema: 2 }],
    ['unknown fields', { ...body(file), more: 1 }],
    ['unknown fields of a report', withReport({ more: 1 })],
    ['files that were sent at no time', { schema: 1, node: 'gpu-1', files: [file] }],
    ['files that were sent at a time that is none', { ...body(file), sentAt: 'now' }],
    ['an address that is none', withReport({ address: '10.0.0.1 ' })],
    ['an address of a partner that is none', withPair({ peer: '"'.repeat(64) })],
    ['a reason of two lines', withPair({ because: 'a\nb' })],
    ['a reason with half a character', withPair({ because: '\ud800' })],
    ['a node that has no name', withReport({ node: 'gpu 1' })],
    ['a problem with control characters', body({ ...place, problem: { field: 'parse', because: '\u0000' } })],
    ['a namespace that is a path', body({ ...file, namespace: '../x' })],
    ['a workload without a name', body({ ...file, workload: '' })],
    ['a rank beyond all workloads', body({ ...file, rank: 10_000 })],
    ['a negative rank', body({ ...file, rank: -1 })],
    ['a rank that is no integer', body({ ...file, rank: 1.5 })],
    ['a time that is none', body({ ...file, writtenAt: 'now' })],
    ['a time without an end', body({ ...file, writtenAt: `2026-11-21T07:00:00.${'1'.repeat(100)}Z` })],
    ['a workload that is too large', withReport({ size: 10_001 })],
    ['a rank that its workload does not have', withReport({ rank: 4 })],
    ['a round that is not kept', withPair({ round: 16 })],
    ['more rounds than are kept', withReport({ tests: Array.from({ length: 17 }, () => pair) })],
    ['an address that is too long', withReport({ address: 'a'.repeat(65) })],
    ['a check that is not known', withReport({ failed: ['network'] })],
    ['a negative bandwidth', withPair({ gbps: -1 })],
    ['a bandwidth that is text', withPair({ gbps: '94' })],
    ['a bandwidth that is not finite', withPair({ gbps: Number.POSITIVE_INFINITY })],
    ['a reason that is too long', withPair({ because: 'b'.repeat(101) })],
    ['a status that is not known', withPair({ status: 'passed' })],
    ['a problem of no field', body({ ...place, problem: { field: 'stale', because: '' } })],
    ['a problem that is too long', body({ ...place, problem: { field: 'parse', because: 'b'.repeat(501) } })],
  ])('may not be %s', (_sentence, value) => {
    expect(takes(value)).toBe(false);
  });
});
