import { beforeEach, describe, expect, it } from '@jest/globals';
import { trainingHangs } from '../../contract/faults/faults.ts';
import type { JobOverrides } from '../../contract/job/job-overrides.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import type { Suspect } from '../../contract/recovery/evidence.ts';
import { type HangOptions, type Hangs, watchHangs } from '../../controller/progress/hangs.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';

const pod: TrainingPod = {
  name: 'llm-master-0',
  uid: 'pod',
  container: 'pytorch',
  job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job' },
  workload: 'llm',
  createdAt: '2026-11-21T06:59:00Z',
  place: { rank: 0 },
  node: 'gpu-1',
  startedAt: '2026-11-21T07:00:00Z',
  present: true,
};
const step = (number: number, more: Partial<JobProgress> = {}): JobProgress => ({
  step: number,
  at: '2026-11-21T07:00:00Z',
  pace: { msPerStep: 1000 },
  ...more,
});

type Job = NonNullable<ReturnType<HangOptions['job']>>;
let now: number;
let cluster: {
  job: Job | undefined;
  pod: TrainingPod | undefined;
  working: number;
  isLive: boolean;
  isRead: boolean;
  watchdogs: string[];
  suspects: Suspect[];
};
let raised: string[];
let suspected: string[][];
let lose: (() => void) | undefined;
let hangs: Hangs;
let defects: number;

beforeEach(() => {
  [now, defects] = [0, 0];
  [raised, suspected] = [[], []];
  cluster = {
    job: { optedIn: true, podsExpected: 4 },
    pod,
    working: 4,
    isLive: true,
    isRead: true,
    watchdogs: [],
    suspects: [],
  };
  hangs = watchHangs({
    settings: { times: 20, leastMs: 60_000, witnesses: 2 },
    isRead: () => cluster.isRead,
    witnesses: () => ({ witnesses: cluster.watchdogs, suspects: cluster.suspects }),
    job({ uid }) {
      if (uid === 'broken') throw new RangeError('Maximum call stack size exceeded');
      return cluster.job;
    },
    pod: () => cluster.pod,
    working: () => cluster.working,
    isLive: () => cluster.isLive,
    raise(_job, { code, message, suspects = [] }, onLost) {
      suspected.push(suspects.map(({ pod: name }) => name));
      const what = code === trainingHangs ? '' : `${code}: `;
      raised.push(`${now / 1000} ${what}${message.split(';')[0]}`);
      lose = onLost;
    },
    now: () => now,
    log: { error: () => void defects++ },
  });
});

/** Advances time, and looks every second. */
function pass(seconds: number): void {
  for (let second = 0; second < seconds; second++) {
    now += 1000;
    hangs.judgeAll();
  }
}

describe('training that stands still', () => {
  it('is reported once, and again when it stops at a later step', () => {
    hangs.take(pod, step(7), 'file');
    pass(300);
    hangs.take(pod, step(8), 'file');
    pass(300);
    expect(raised).toEqual(['60 no step for 1m after step 7', '360 no step for 1m after step 8']);
  });

  it('is reported again when the first report was lost', () => {
    hangs.take(pod, step(7), 'file');
    pass(60);
    lose?.();
    pass(10);
    expect(raised).toHaveLength(2);
  });

  it('is not reported while steps are made, nor for a job that never reported one', () => {
    for (let second = 0; second < 100; second++) {
      hangs.take(pod, step(second), 'file');
      pass(30);
    }
    hangs.forget('job');
    pass(1000);
    expect(raised).toEqual([]);
  });

  it('is not reported while the trainer says that it does something else, and is given its time when that ends', () => {
    hangs.take(pod, step(7), 'file');
    pass(50);
    hangs.take(pod, step(7, { phase: 'evaluating' }), 'file');
    pass(200);
    hangs.take(pod, step(7, { phase: 'training' }), 'file');
    pass(59);
    expect(raised).toEqual([]);
    pass(1);
    expect(raised).toEqual(['310 no step for 5m 10s after step 7']);
  });

  const overrides = (hang: JobOverrides['hang']): JobOverrides => ({ ignored: [], ...(hang && { hang }) });
  it.each<[sentence: string, change: () => void]>([
    ['is gone', () => (cluster.job = undefined)],
    ['is opted out', () => (cluster.job = { optedIn: false, podsExpected: 4 })],
    [
      'has finished',
      () => (cluster.job = { optedIn: true, podsExpected: 4, finished: { as: 'succeeded', because: 'x' } }),
    ],
    ['is suspended', () => (cluster.job = { optedIn: true, podsExpected: 4, suspension: { by: 'owner' } })],
    [
      'has hang detection off',
      () => (cluster.job = { optedIn: true, podsExpected: 4, overrides: overrides('ignore') }),
    ],
    ['lacks a pod', () => (cluster.working = 3)],
    ['has lost the pod that reported', () => (cluster.pod = undefined)],
    ['has a reporting pod that terminates', () => (cluster.pod = { ...pod, present: false })],
    ['has started its containers again', () => (cluster.pod = { ...pod, startedAt: '2026-11-21T08:00:00Z' })],
    ['cannot be observed', () => (cluster.isLive = false)],
  ])(
    'is not reported for a job that %s, and is judged anew from the moment at which that ends',
    (_sentence, change) => {
      const before = { ...cluster };
      hangs.take(pod, step(7), 'file');
      change();
      pass(500);
      expect(raised).toEqual([]);
      Object.assign(cluster, before);
      pass(59);
      expect(raised).toEqual([]);
      pass(1);
      expect(raised).toEqual(['560 no step for 9m 20s after step 7']);
    },
  );

  it('is reported for a job that asks for it', () => {
    cluster.job = { optedIn: true, podsExpected: 4, overrides: overrides('notify') };
    hangs.take(pod, step(7), 'file');
    pass(60);
    expect(raised).toHaveLength(1);
  });

  it('is not reported when it was the controller that was suspended', () => {
    hangs.take(pod, step(7), 'file');
    now += 3600_000;
    hangs.judgeAll();
    pass(59);
    expect(raised).toEqual([]);
    pass(1);
    expect(raised).toHaveLength(1);
  });

  it('is only suspected while the log alone says so, and is a hang when a watchdog says so too', () => {
    hangs.take(pod, step(7), 'log');
    pass(90);
    expect(raised).toEqual(['60 progress/no-step: no step for 1m after step 7']);
    cluster.watchdogs = ['watchdog of llm-worker-0 on gpu-2: a collective timed out'];
    pass(90);
    expect(raised.slice(1)).toEqual(['106 no step for 1m 46s after step 7']);
  });

  it('is a hang at once where a watchdog has spoken before the time has passed, and not before that', () => {
    hangs.take(pod, step(7), 'log');
    cluster.watchdogs = ['watchdog of llm-worker-0 on gpu-2: a collective timed out'];
    pass(59);
    expect(raised).toEqual([]);
    pass(10);
    expect(raised).toEqual(['60 no step for 1m after step 7']);
  });

  it('names whom the watchdogs suspect when the last of them has spoken, not when the first has', () => {
    hangs.take(pod, step(7), 'log');
    pass(90);
    cluster.watchdogs = ['watchdog of llm-worker-0 on gpu-2: a collective timed out'];
    pass(14);
    cluster.suspects = [{ pod: 'llm-worker-1', node: 'gpu-3', because: 'no watchdog line' }];
    pass(2);
    expect(suspected).toEqual([[], ['llm-worker-1']]);
  });

  it('needs no second witness where the trainer itself writes a file, also when its log was read before', () => {
    hangs.take(pod, step(7), 'log');
    hangs.take(pod, step(8), 'file');
    pass(60);
    expect(raised).toEqual(['60 no step for 1m after step 8']);
  });

  it('is not even suspected while its log cannot be read', () => {
    hangs.take(pod, step(7), 'log');
    cluster.isRead = false;
    pass(500);
    expect(raised).toEqual([]);
    cluster.isRead = true;
    pass(60);
    expect(raised).toHaveLength(1);
  });

  it('makes further logs be read when half of its time has passed, until the next step', () => {
    hangs.take(pod, step(7), 'log');
    pass(30);
    expect(hangs.isLate('job')).toBe(false);
    pass(1);
    expect(hangs.isLate('job')).toBe(true);
    hangs.take(pod, step(8), 'log');
    expect(hangs.isLate('job')).toBe(false);
  });

  it('is reported though another job cannot be judged', () => {
    hangs.take({ ...pod, uid: 'x', job: { ...pod.job, uid: 'broken' } }, step(7), 'file');
    hangs.take(pod, step(7), 'file');
    pass(60);
    expect(raised).toHaveLength(1);
    expect(defects).toBe(60);
  });
});
