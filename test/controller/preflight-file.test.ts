import { describe, expect, it } from '@jest/globals';
import type { PreflightReport } from '../../contract/preflight/preflight.ts';
import type { PreflightFile } from '../../contract/preflight/files.ts';
import { decideFile, type FileFacts } from '../../controller/preflight/decide-file.ts';
import type { PreflightPod } from '../../kube/pods/preflight-pods.ts';

const day = '2026-11-21T';
const report = (more: Partial<PreflightReport> = {}): PreflightReport => ({
  size: 4,
  rank: 1,
  node: 'gpu-1',
  address: '10.0.0.1',
  tests: [],
  ...more,
});
const file = (at: string, more: Partial<PreflightReport> = {}): PreflightFile => ({
  namespace: 'train',
  workload: 'llm',
  rank: 1,
  writtenAt: `${day}${at}`,
  report: report(more),
});
const unusable = (at: string): PreflightFile => ({
  namespace: 'train',
  workload: 'llm',
  rank: 1,
  writtenAt: `${day}${at}`,
  problem: { field: 'workload_size', because: 'it is odd' },
});

const pod = (
  name: string,
  tests: readonly [from: string, until?: string][],
  more: Partial<PreflightPod> = {},
): PreflightPod => ({
  uid: `uid-${name}`,
  name,
  namespace: 'train',
  createdAt: `${day}06:59:00Z`,
  node: 'gpu-1',
  workload: { namespace: 'train', name: 'llm', uid: 'u' },
  rank: 1,
  tests: tests.map(([from, until]) => ({
    from: `${day}${from}`,
    ...(until !== undefined && { until: `${day}${until}` }),
  })),
  testing: tests.some(([, until]) => until === undefined),
  terminating: false,
  accelerators: { 'nvidia.com/gpu': 8 },
  over: false,
  ...more,
});
const share = () => ({ asked: 8, of: 8 });
const tested = pod('old', [['07:00:00Z', '07:02:00Z']]);
const testing = pod('new', [['07:03:00Z']]);
const twice = pod('twice', [['07:00:00Z', '07:02:00Z'], ['07:03:00Z']]);
const unseen = pod('unseen', []);
/** A deleted pod whose last state is running. */
const cutOff = pod('cut-off', [['07:00:00Z']], { testing: false, terminating: true });

type Facts = Partial<FileFacts>;

describe('a preflight file', () => {
  it.each<[sentence: string, file: PreflightFile, facts: Facts, expected: string]>([
    ['is accepted when it was written while its pod tested', file('07:01:00Z'), { pods: [tested] }, 'accepted old'],
    ['is accepted however late it comes', file('07:01:00Z'), { pods: [tested], sentAt: '23:00:00Z' }, 'accepted old'],
    ['is accepted within a second after the end', file('07:02:00.999Z'), { pods: [tested] }, 'accepted old'],
    ['is accepted within a second before the beginning', file('06:59:59.001Z'), { pods: [tested] }, 'accepted old'],
    ['is stale two seconds before the beginning', file('06:59:58Z'), { pods: [tested] }, 'refused stale, reported'],
    [
      'is stale long after the end',
      file('07:02:05Z'),
      { pods: [tested], sentAt: '07:30:00Z' },
      'refused stale, reported',
    ],
    [
      'waits after the end while the next test may have begun unseen',
      file('07:02:05Z'),
      { pods: [tested], sentAt: '07:02:10Z' },
      'wait: the test of its pod is not seen yet',
    ],
    [
      'waits while the test of its pod is not seen',
      file('07:01:00Z'),
      { pods: [unseen], sentAt: '07:01:01Z' },
      'wait: the test of its pod is not seen yet',
    ],
    [
      'is stale when no test is seen for long',
      file('07:01:00Z'),
      { pods: [unseen], sentAt: '07:10:00Z' },
      'refused stale, reported',
    ],
    ['waits while its pod is still testing', file('07:04:00Z'), { pods: [testing] }, 'wait: its pod is still testing'],
    ['is of the test before when that was when it was written', file('07:01:00Z'), { pods: [twice] }, 'accepted twice'],
    ['waits when it is of the test that runs', file('07:03:30Z'), { pods: [twice] }, 'wait: its pod is still testing'],
    [
      'is of the older pod when that was when it was written',
      file('07:01:00Z'),
      { pods: [testing, tested] },
      'accepted old',
    ],
    [
      'waits for the newer pod when that tests',
      file('07:04:00Z'),
      { pods: [testing, tested] },
      'wait: its pod is still testing',
    ],
    [
      'is accepted from a pod that went before its test was seen to end',
      file('07:01:00Z'),
      { pods: [cutOff] },
      'accepted cut-off',
    ],
    [
      'waits for its pod while it is young',
      file('07:01:00Z'),
      { pods: [], sentAt: '07:02:00Z' },
      'wait: its pod is not seen yet',
    ],
    [
      'waits for its pod while pods are not seen',
      file('07:01:00Z'),
      { pods: [], isUpToDate: false },
      'wait: its pod is not seen yet',
    ],
    [
      'waits for its pod while that may have gone before we led',
      file('07:01:00Z'),
      { pods: [], fresh: true },
      'wait: its pod is not seen yet',
    ],
    [
      'does not wait until the time comes at which it says that it was written',
      file('17:00:00Z'),
      { pods: [] },
      'refused no-pod',
    ],
    ['is refused without a pod', file('07:01:00Z'), { pods: [] }, 'refused no-pod'],
    [
      'is not stale while pods are not seen',
      file('06:00:00Z'),
      { pods: [tested], isUpToDate: false },
      'wait: the test of its pod is not seen yet',
    ],
    [
      'waits while what its node has is not seen',
      file('07:01:00Z'),
      { pods: [tested], share: () => undefined },
      'wait: its node is not seen yet',
    ],
    [
      'of another node is refused',
      file('07:01:00Z', { node: 'gpu-2' }),
      { pods: [tested] },
      'refused other-node, reported',
    ],
    [
      'of another node is refused without a pod too',
      file('07:01:00Z', { node: 'gpu-2' }),
      { pods: [], isUpToDate: false },
      'refused other-node',
    ],
    ['of another rank is refused', file('07:01:00Z', { rank: 2 }), { pods: [tested] }, 'refused other-rank, reported'],
    ['that cannot be used is refused', unusable('07:01:00Z'), { pods: [tested] }, 'refused workload_size, reported'],
    [
      'that cannot be used may not be whole while its pod tests',
      unusable('07:04:00Z'),
      { pods: [testing] },
      'wait: its pod is still testing',
    ],
    ['that cannot be used is refused without a pod too', unusable('07:01:00Z'), { pods: [] }, 'refused no-pod'],
  ])(
    '%s',
    (
      _sentence,
      given,
      { pods = [], isUpToDate = true, fresh = false, share: holds = share, sentAt = '08:00:00Z' },
      expected,
    ) => {
      const decision = decideFile(given, 'gpu-1', { pods, isUpToDate, fresh, share: holds, sentAt: `${day}${sentAt}` });
      if (decision.answer === 'accepted') expect(`accepted ${decision.pod.name}`).toBe(expected);
      else if (decision.answer === 'wait') expect(`wait: ${decision.because}`).toBe(expected);
      else expect(`refused ${decision.refused.what}${decision.pod ? ', reported' : ''}`).toBe(expected);
    },
  );

  it('is sent with the pod that wrote it and the time of the node', () => {
    const facts = { pods: [tested], isUpToDate: true, fresh: false, share, sentAt: `${day}08:00:00Z` };
    expect(decideFile(file('08:01:00+01:00'), 'gpu-1', facts)).toMatchObject({
      report: {
        report: report(),
        pod: { name: 'old', uid: 'uid-old', createdAt: `${day}06:59:00Z` },
        share: share(),
        writtenAt: `${day}07:01:00.000Z`,
      },
    });
    expect(decideFile(unusable('07:01:00Z'), 'gpu-1', facts)).toMatchObject({
      refused: { rank: 1, node: 'gpu-1', what: 'workload_size', because: 'it is odd', at: `${day}07:01:00.000Z` },
    });
  });
});
