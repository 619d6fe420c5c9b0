import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Slowdowns, type SlowdownOptions, watchSlowdowns } from '../../controller/progress/slowdowns.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';

const pod: TrainingPod = {
  name: 'llm-master-0',
  uid: 'pod',
  container: 'pytorch',
  job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job' },
  workload: 'llm',
  place: { rank: 0 },
  node: 'gpu-1',
  createdAt: '2026-11-21T06:59:00Z',
  startedAt: '2026-11-21T07:00:00Z',
  present: true,
};

type Job = NonNullable<ReturnType<SlowdownOptions['job']>>;
const plain: Job = { optedIn: true, podsExpected: 4 };
const asking = (overrides: Omit<NonNullable<Job['overrides']>, 'ignored'>): Job => ({
  ...plain,
  overrides: { ignored: [], ...overrides },
});
let cluster: { job: Job | undefined; pod: TrainingPod; working: number; from: 'file' | 'log' };
let raised: string[];
let lose: (() => void) | undefined;
let slowdowns: Slowdowns;
let step: number;
let ms: number;

beforeEach(() => {
  cluster = { job: plain, pod, working: 4, from: 'file' };
  [raised, lose, step, ms] = [[], undefined, 0, Date.parse('2026-11-21T07:00:00Z')];
  lead();
});

/** A controller begins to lead. */
function lead(): void {
  slowdowns = watchSlowdowns({
    settings: { times: 1.3, forMs: 60_000 },
    job: () => cluster.job,
    working: () => cluster.working,
    stragglers: () => ({}),
    raise(_job, { code }, onLost) {
      raised.push(`${code} at ${step}`);
      lose = onLost;
    },
  });
}

/** Steps of so many seconds. */
function train(seconds: number, steps: number): void {
  for (let count = 0; count < steps; count++) {
    step++;
    ms += seconds * 1000;
    slowdowns.take(cluster.pod, { step, at: new Date(ms).toISOString() }, cluster.from);
  }
}

describe('training that becomes slower', () => {
  it('is reported once, and again when it becomes slower after its pace was back', () => {
    train(1, 40);
    train(2, 500);
    expect(raised).toEqual(['progress/slow at 80']);
    train(1, 40);
    train(2, 500);
    expect(raised).toEqual(['progress/slow at 80', 'progress/slow at 620']);
  });

  it('is shown while it lasts', () => {
    train(1, 40);
    train(2, 39);
    expect(slowdowns.of('job')).toBeUndefined();
    train(2, 1);
    expect(slowdowns.of('job')).toEqual({ since: '2026-11-21T07:01:02.000Z', bestMsPerStep: 1000 });
    train(1, 40);
    expect(slowdowns.of('job')).toBeUndefined();
  });

  it('is reported again when the first report was lost', () => {
    train(1, 40);
    train(2, 40);
    lose?.();
    train(2, 10);
    expect(raised).toEqual(['progress/slow at 80', 'progress/slow at 81']);
  });

  it.each<[sentence: string, change: () => void]>([
    ['has lost its object', () => (cluster.job = undefined)],
    ['is opted out', () => (cluster.job = { ...plain, optedIn: false })],
    ['has finished', () => (cluster.job = { ...plain, finished: { as: 'succeeded', because: 'x' } })],
    ['is suspended', () => (cluster.job = { ...plain, suspension: { by: 'owner' } })],
    ['wants no report', () => (cluster.job = asking({ slow: 'ignore' }))],
    ['lacks a pod', () => (cluster.working = 3)],
    ['terminates', () => (cluster.pod = { ...pod, present: false })],
  ])('is not reported of a job that %s, nor from what was measured before', (_sentence, change) => {
    const before = { ...cluster };
    train(1, 40);
    change();
    train(2, 500);
    Object.assign(cluster, before);
    train(2, 500);
    expect(raised).toEqual([]);
  });

  it.each<[sentence: string, change: () => void]>([
    ['another controller leads', () => lead()],
    ['its containers have started again', () => (cluster.pod = { ...pod, startedAt: '2026-11-21T08:00:00Z' })],
    ['another pod reports', () => (cluster.pod = { ...pod, uid: 'other' })],
    ['its steps are read in its log', () => (cluster.from = 'log')],
    ['its log is read in another format', () => (cluster.job = asking({ logFormat: 'megatron' }))],
    ['its log is read by another pattern', () => (cluster.job = asking({ logStep: 'step (?<step>[0-9]+)' }))],
    ['it has another size', () => ([cluster.job, cluster.working] = [{ ...plain, podsExpected: 2 }, 2])],
    ['its object is gone, and another comes', () => slowdowns.forget('job')],
  ])('is not reported for what it does since %s, until it becomes slower again', (_sentence, change) => {
    train(1, 40);
    change();
    train(2, 500);
    expect(raised).toEqual([]);
    train(4, 500);
    expect(raised).toHaveLength(1);
  });

  it('is not reported for the time in which its agent was silent', () => {
    train(1, 40);
    train(2, 12);
    ms += 3600_000;
    train(2, 5);
    expect(raised).toEqual([]);
  });
});
