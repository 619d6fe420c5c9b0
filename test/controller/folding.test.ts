import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../contract/faults/faults.ts';
import type { NodeOutcome } from '../../contract/node/nodes.ts';
import { findStrays, findUnsupervised, foldJob, type WatchedJob } from '../../policy/job/watch.ts';
import {
  faultsOfReturned,
  foldNode,
  missedChangeOf,
  type TrackedNode,
  type WatchedNode,
} from '../../policy/node/watch.ts';
import { failuresToReport, type PodOwner, type WatchedPod } from '../../policy/incident/pod-watch.ts';

const seen = (more: Partial<WatchedJob> = {}): WatchedJob => ({
  ref: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'u1' },
  optedIn: true,
  wantsRecovery: false,
  ...more,
});
const finished = seen({ finished: { as: 'succeeded', because: 'done' } });
const out = seen({ optedIn: false });
const wanting = seen({ wantsRecovery: true });

describe('a change of a job', () => {
  it.each<[string, WatchedJob | undefined, WatchedJob | undefined, readonly string[]]>([
    ['starts its workflow when it is first seen opted in', undefined, seen(), ['start']],
    ['sends nothing for a job that never opted in', undefined, out, []],
    ['sends nothing when a job that never opted in goes', out, undefined, []],
    ['sends nothing for a job that is first seen finished', undefined, finished, []],
    ['sends nothing while an opted-in job goes on', seen(), seen(), []],
    ['reports that it opted in later', out, seen(), ['opted-in']],
    ['reports that it opted out', seen(), out, ['opted-out']],
    ['reports that it finished', seen(), finished, ['finished']],
    ['reports that it is gone', seen(), undefined, ['gone']],
    ['does not report the end of a finished job again when it goes', finished, undefined, []],
    ['asks for a recovery when the label appears', seen(), wanting, ['recover']],
    ['asks once, however often the job changes', wanting, wanting, []],
    ['starts and asks when both labels are there at first sight', undefined, wanting, ['start', 'recover']],
    [
      'asks when a job with the label opts in',
      seen({ optedIn: false, wantsRecovery: true }),
      wanting,
      ['opted-in', 'recover'],
    ],
    [
      'ignores the label on a job that is not opted in',
      undefined,
      seen({ optedIn: false, wantsRecovery: true }),
      ['ignore-label'],
    ],
    [
      'ignores it once',
      seen({ optedIn: false, wantsRecovery: true }),
      seen({ optedIn: false, wantsRecovery: true }),
      [],
    ],
    ['ends with the label still there', wanting, seen({ optedIn: false, wantsRecovery: true }), ['opted-out']],
  ])('%s', (_sentence, before, now, expected) => {
    expect(foldJob(before, now).map((step) => (step.kind === 'notify' ? step.observed.change : step.kind))).toEqual(
      expected,
    );
  });

  it('finds the workflows whose job ended while no controller led', () => {
    const jobs = [
      seen(),
      seen({ ref: { ...seen().ref, uid: 'u2' }, optedIn: false }),
      seen({ ...finished, ref: { ...seen().ref, uid: 'u3' } }),
    ];
    const strays = findStrays(
      ['u1', 'u2', 'u3', 'u4'].map((uid) => `job/train/llm/${uid}`),
      jobs,
    );
    expect(strays.map(({ workflowId, observed }) => [workflowId, observed.change])).toEqual([
      ['job/train/llm/u2', 'opted-out'],
      ['job/train/llm/u3', 'finished'],
      ['job/train/llm/u4', 'gone'],
    ]);
  });

  it('finds supervised jobs without a running workflow, and no others', () => {
    const named = (uid: string, more: Partial<WatchedJob> = {}) => seen({ ...more, ref: { ...seen().ref, uid } });
    const jobs = [
      named('u1'),
      named('u2'),
      named('u3', { optedIn: false }),
      named('u4', { finished: { as: 'succeeded', because: 'done' } }),
    ];
    expect(findUnsupervised(['job/train/llm/u1', 'job/train/llm/u9'], jobs).map(({ uid }) => uid)).toEqual(['u2']);
  });
});

const failure = (id: string, seenAt = '2026-11-21T07:00:10Z'): Fault => ({
  id,
  source: 'pod',
  code: 'pod/exit',
  message: 'm',
  seenAt,
});
const pod = (failures: readonly Fault[], more: Partial<WatchedPod> = {}): WatchedPod => ({
  uid: 'p',
  failures,
  ...more,
});
const owner: PodOwner = { optedIn: true, optedInAt: '2026-11-21T07:00:00Z' };
const led: PodOwner = { ...owner, succeedsWith: { role: 'master' } };
const firstWorker: PodOwner = { ...owner, succeedsWith: { role: 'worker', index: 0 } };

describe('a failure of a pod', () => {
  it.each<[string, PodOwner | undefined, readonly WatchedPod[], readonly string[]]>([
    ['is reported', owner, [pod([failure('a')])], ['a']],
    ['is reported for every pod', owner, [pod([failure('a')]), pod([failure('b')])], ['a', 'b']],
    ['is not reported twice', owner, [pod([failure('reported'), failure('b')])], ['b']],
    ['waits while the job is not known', undefined, [pod([failure('a')])], []],
    ['is ignored for a job that is not opted in', { ...owner, optedIn: false }, [pod([failure('a')])], []],
    [
      'is ignored for a finished job',
      { ...owner, finished: { as: 'failed', because: 'x' } },
      [pod([failure('a')])],
      [],
    ],
    [
      'is ignored while the job is suspended',
      { ...owner, suspension: { by: 'kcover', incident: 'i', attempt: 1 } },
      [pod([failure('a')])],
      [],
    ],
    ['is ignored when it ended before the opt-in', owner, [pod([failure('a', '2026-11-21T06:59:59Z')])], []],
    ['counts in the second of the opt-in', owner, [pod([failure('a', '2026-11-21T07:00:00Z')])], ['a']],
    [
      "is nothing after the pod has succeeded whose success is the job's",
      led,
      [pod([failure('a')]), pod([], { succeededAs: { role: 'master', index: 0 } })],
      [],
    ],
    [
      'counts after another pod has succeeded',
      led,
      [pod([failure('a')]), pod([], { succeededAs: { role: 'worker', index: 0 } })],
      ['a'],
    ],
    [
      'counts after another pod of the role has',
      firstWorker,
      [pod([failure('a')]), pod([], { succeededAs: { role: 'worker', index: 1 } })],
      ['a'],
    ],
    [
      'counts after a success where all have to succeed',
      owner,
      [pod([failure('a')]), pod([], { succeededAs: { role: 'worker', index: 0 } })],
      ['a'],
    ],
  ])('%s', (_sentence, job, pods, expected) => {
    expect(failuresToReport(job, pods, new Set(['reported'])).map(({ id }) => id)).toEqual(expected);
  });
});

const node = (more: Partial<WatchedNode> = {}): WatchedNode => ({
  uid: 'u1',
  systemUuid: 's1',
  quarantinedByUs: false,
  ...more,
});
const ours = node({ quarantinedByUs: true });

describe('a change of a node', () => {
  const run = (...states: readonly (WatchedNode | undefined)[]) => {
    let tracked: TrackedNode | undefined;
    return states.map((state) => {
      const folded = foldNode(tracked, state);
      tracked = folded.tracked;
      return folded.notify
        ? folded.notify.uid
          ? `${folded.notify.uid} ${folded.notify.quarantinedByUs ? 'ours' : 'free'}`
          : 'gone'
        : '-';
    });
  };
  it.each<[string, readonly (WatchedNode | undefined)[], readonly string[]]>([
    [
      'is not reported when the node was never quarantined',
      [node(), node(), undefined, node({ uid: 'u2' })],
      ['-', '-', '-', '-'],
    ],
    ['is not reported when it is our own first taint', [node(), ours], ['-', '-']],
    ['is reported when our taint is removed', [ours, node()], ['-', 'u1 free']],
    [
      'is reported each time that our taint is removed, and never that it is there again',
      [ours, node(), node(), ours, node()],
      ['-', 'u1 free', '-', '-', 'u1 free'],
    ],
    [
      'is reported when the node goes and comes back as another object',
      [ours, undefined, node({ uid: 'u2' })],
      ['-', 'gone', 'u2 free'],
    ],
    ['is reported when the object was replaced', [ours, node({ uid: 'u2', quarantinedByUs: true })], ['-', 'u2 ours']],
  ])('%s', (_sentence, states, expected) => {
    expect(run(...states)).toEqual(expected);
  });

  it('is reported for a node with a workflow that was never quarantined, but not its first taint', () => {
    const followed: TrackedNode = { seen: node(), followed: true };
    expect(foldNode(followed, ours).notify).toBeUndefined();
    expect(foldNode(followed, undefined).notify).toEqual({ quarantinedByUs: false });
  });

  it('is reported after a time without a watch only where our taint is missing', () => {
    expect(missedChangeOf(ours)).toBeUndefined();
    expect(missedChangeOf(node())).toEqual({ uid: 'u1', quarantinedByUs: false });
    expect(missedChangeOf(undefined)).toEqual({ quarantinedByUs: false });
  });

  const went: NodeOutcome = {
    node: 'gpu-1',
    outcome: 'gone',
    because: 'gone',
    systemUuid: 's1',
    quarantinedFor: [failure('a')],
  };
  it.each<[string, WatchedNode, NodeOutcome | undefined, number]>([
    ['quarantines the same machine again', node({ uid: 'u2' }), went, 1],
    ['leaves another machine of the same name alone', node({ uid: 'u2', systemUuid: 's2' }), went, 0],
    ['does not treat a missing id as an identity', node({ uid: 'u2', systemUuid: '' }), { ...went, systemUuid: '' }, 0],
    ['leaves a machine alone that was released', node({ uid: 'u2' }), { ...went, outcome: 'released' }, 0],
    [
      'leaves a machine alone that was not quarantined when it went',
      node({ uid: 'u2' }),
      { node: 'gpu-1', outcome: 'gone', because: 'gone', systemUuid: 's1' },
      0,
    ],
    ['leaves a machine alone that is quarantined', { ...ours, uid: 'u2' }, went, 0],
    ['leaves an unknown machine alone', node({ uid: 'u2' }), undefined, 0],
  ])('%s', (_sentence, now, last, expected) => {
    expect(faultsOfReturned(now, last)).toHaveLength(expected);
  });
});
