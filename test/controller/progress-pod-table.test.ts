import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JobRef } from '../../contract/job/jobs.ts';
import { openTrainingPods, type TrainingPods } from '../../controller/progress/pod-table.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';

const pod = (uid: string, more: Partial<TrainingPod> = {}): TrainingPod => ({
  name: uid,
  uid,
  container: 'pytorch',
  job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job' },
  workload: 'llm',
  createdAt: '2026-11-21T06:59:00Z',
  place: { rank: 0 },
  node: 'gpu-1',
  startedAt: '2026-11-21T07:00:00Z',
  present: true,
  ...more,
});
const pending = (uid: string): TrainingPod => {
  const { startedAt: _, ...rest } = pod(uid);
  return rest;
};

let now: number;
/** Owners of jobs, by UID of the job; undefined while the job is not known. */
let sets: Map<string, JobRef | undefined>;
let pods: TrainingPods;
const writers = () => pods.writersOn('gpu-1').map(({ uid }) => uid);

beforeEach(() => {
  now = 0;
  sets = new Map();
  pods = openTrainingPods(
    () => now,
    (job) => (sets.has(job.uid) ? sets.get(job.uid) : job),
  );
  pods.put(pod('a'));
});

describe('the pod of a name', () => {
  const uidOf = (name: string, namespace = 'train') => pods.named(namespace, name)?.uid;

  it('is the one that has it now, and is known for a minute after it is gone', () => {
    pods.put(pod('a-again', { name: 'a' }));
    expect(uidOf('a')).toBe('a-again');
    pods.remove('a');
    now = 60_001;
    pods.remove('a-again');
    expect(uidOf('a')).toBe('a-again');
    now = 120_002;
    pods.remove('another');
    expect(uidOf('a')).toBeUndefined();
  });

  it('is none of another namespace, and none without a known job', () => {
    sets.set('job', undefined);
    pods.put(pod('b'));
    expect([uidOf('a', 'victim'), uidOf('b')]).toEqual([undefined, undefined]);
  });
});

describe('the pods that may report', () => {
  it('are those that are present, and those that are terminating', () => {
    pods.put(pod('a', { present: false }));
    now = 3600_000;
    expect(writers()).toEqual(['a']);
    expect(pods.isLatest('a')).toBe(true);
  });

  it('are those that have ended or are gone, for a minute', () => {
    pods.put(pod('b', { present: false, ended: true }));
    now = 1000;
    pods.remove('a');
    now = 60_000;
    expect(writers()).toEqual(['a', 'b']);
    now = 60_001;
    expect(writers()).toEqual(['a']);
    now = 61_001;
    expect(writers()).toEqual([]);
    expect(pods.isLatest('a')).toBe(false);
  });

  it('are gone a minute after their end, and not after they are deleted', () => {
    pods.put(pod('a', { present: false, ended: true }));
    now = 59_000;
    pods.remove('a');
    now = 61_000;
    expect(writers()).toEqual([]);
  });

  it('are no longer those that are terminating when a later pod has begun', () => {
    pods.put(pod('a', { present: false }));
    pods.put(pending('b'));
    expect(writers()).toEqual(['a', 'b']);
    pods.put(pod('b'));
    expect(writers()).toEqual(['b']);
    pods.remove('b');
    expect(writers()).toEqual(['b']);
  });

  it('are not affected by pods of the same attempt, or of another job, that begin late', () => {
    pods.put({ ...pending('b'), node: 'gpu-2' });
    pods.put(pod('a', { present: false }));
    pods.put(pod('b', { node: 'gpu-2' }));
    pods.put(pod('c', { node: 'gpu-2', job: { ...pod('c').job, uid: 'other' } }));
    expect(writers()).toEqual(['a']);
  });

  it('are forgotten when they went long ago', () => {
    pods.remove('a');
    expect(pods.jobsOn('gpu-1')).toHaveLength(1);
    now = 61_000;
    pods.put(pod('b', { node: 'gpu-2' }));
    pods.remove('b');
    expect([pods.get('a'), pods.jobsOn('gpu-1')]).toEqual([undefined, []]);
    expect(pods.get('b')).toMatchObject({ present: false });
  });

  it('do not include those of an unknown job, until it is known', () => {
    sets.set('job', undefined);
    pods = openTrainingPods(
      () => now,
      ({ uid }) => sets.get(uid),
    );
    pods.put(pod('a'));
    expect([writers(), pods.jobsOn('gpu-1')]).toEqual([[], []]);
    sets.set('job', pod('a').job);
    pods.lookAgain(pod('a').job);
    expect(writers()).toEqual(['a']);
  });

  describe('of a JobSet', () => {
    const set: JobRef = { kind: 'JobSet', namespace: 'train', name: 'llm', uid: 'set' };
    const child = (uid: string): JobRef => ({ kind: 'Job', namespace: 'train', name: 'llm-node-0', uid });

    it.each([
      ['known from the beginning', true],
      ['known only later', false],
    ])('are no longer those of its earlier Jobs when a pod of a later one has begun, with the set %s', (_, known) => {
      if (known) sets.set('first', set);
      pods.put(pod('a', { job: child('first') }));
      sets.set('first', set);
      pods.lookAgain(child('first'));
      expect(pods.writersOn('gpu-1').at(-1)).toMatchObject({ uid: 'a', job: set });
      pods.put(pod('a', { job: child('first'), present: false }));
      sets.set('first', undefined).set('second', set);
      pods.put(pod('a', { job: child('first'), present: false, ended: true }));
      expect(pods.isLatest('a')).toBe(true);
      pods.put(pod('b', { job: child('second') }));
      pods.remove('a');
      expect(writers()).toEqual(['b']);
      expect(pods.isLatest('a')).toBe(false);
    });
  });
});
