import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { JobProgress, Pace } from '../../contract/progress/progress.ts';
import {
  createProgressWriter,
  type ProgressWriterOptions,
  type ProgressWriter,
} from '../../controller/progress/writer.ts';
import type { TrainingPod } from '../../kube/pods/training-pods.ts';

const job = (name = 'llm'): JobRef => ({ kind: 'PyTorchJob', namespace: 'train', name, uid: `uid-${name}` });
const pod = (uid: string, of = job()): TrainingPod => ({
  name: uid,
  uid,
  container: 'pytorch',
  job: of,
  workload: of.name,
  createdAt: '2026-11-21T06:59:00Z',
  place: { rank: 0 },
  node: 'gpu-1',
  startedAt: '2026-11-21T07:00:00Z',
  present: true,
});
const at = '2026-11-21T07:01:00.000Z';
const step = (number: number, more: Partial<JobProgress> = {}): JobProgress => ({ step: number, at, ...more });

let now: number;
let timers: { due: number; act: () => void }[];
let gone: Set<string>;
let annotated: JobProgress | undefined;
let writes: string[];
let last: JobProgress | undefined;
let answer: () => boolean | Promise<boolean>;
let optedIn: boolean;
let slow: Pace['slow'];
let writer: ProgressWriter;
let over: AbortController;

beforeEach(() => {
  [now, timers, gone, annotated, writes, last, answer, optedIn] = [
    1000,
    [],
    new Set(),
    undefined,
    [],
    undefined,
    () => true,
    true,
  ];
  [over, slow] = [new AbortController(), undefined];
  open();
});

function open(more: Partial<ProgressWriterOptions> = {}): void {
  writer = createProgressWriter({
    everyMs: 15_000,
    async write({ name }, progress) {
      last = progress;
      writes.push(
        `${now} ${name} ${progress.step}${progress.checkpointStep === undefined ? '' : `/${progress.checkpointStep}`}`,
      );
      return answer();
    },
    annotated: () => annotated,
    slow: () => slow,
    isOptedIn: () => optedIn,
    isLatest: (uid) => !gone.has(uid),
    timing: {
      now: () => now,
      after(ms, act) {
        const timer = { due: now + ms, act };
        timers.push(timer);
        return () => void (timers = timers.filter((each) => each !== timer));
      },
    },
    onWrite: () => undefined,
    signal: over.signal,
    ...more,
  });
}

/** Waits until all pending promises have settled. */
const settle = () => new Promise<void>((done) => void setImmediate(done));

/** Advances time, and runs the timers that expire. */
async function pass(ms: number): Promise<void> {
  const until = now + ms;
  await settle();
  for (;;) {
    const [next] = timers.toSorted((a, b) => a.due - b.due);
    if (!next || next.due > until) break;
    timers = timers.filter((timer) => timer !== next);
    now = Math.max(now, next.due);
    next.act();
    await settle();
  }
  now = until;
}

describe('the progress annotations of a job', () => {
  it('are written at once for the first progress of an attempt, and then every 15 s at most', async () => {
    for (let second = 0; second < 40; second += 5) {
      writer.take(pod('a'), 0, step(second));
      await pass(5000);
    }
    expect(writes).toEqual(['1000 llm 0', '16000 llm 10', '31000 llm 25']);
  });

  it('are not written on a job that did not opt in, and at once when it does', async () => {
    optedIn = false;
    for (const number of [1, 2, 3]) {
      writer.take(pod('a'), 0, step(number));
      writer.hasten(job());
      await pass(20_000);
    }
    expect(writes).toEqual([]);
    expect(writer.newest(job().uid)).toMatchObject({ step: 3 });
    optedIn = true;
    writer.lookAgain(job());
    await pass(1);
    expect(writes).toEqual(['61000 llm 3']);
    writer.take(pod('a'), 0, step(4));
    optedIn = false;
    await pass(60_000);
    expect(writes).toHaveLength(1);
  });

  it('are not written while nothing changes', async () => {
    for (let time = 0; time < 10; time++) {
      writer.take(pod('a'), 0, step(7));
      await pass(15_000);
    }
    expect(writes).toEqual(['1000 llm 7']);
  });

  it('have the first progress of the next attempt at once, though it is further back', async () => {
    writer.take(pod('a'), 0, step(100, { checkpointStep: 90 }));
    await pass(2000);
    gone.add('a');
    writer.take(pod('b'), 0, step(91));
    await pass(0);
    expect(writes).toEqual(['1000 llm 100/90', '3000 llm 91']);
  });

  it('have the last known progress at once when a fault is reported, and are not written when they have it already', async () => {
    writer.take(pod('a'), 0, step(1));
    await pass(5000);
    writer.take(pod('a'), 0, step(2));
    gone.add('a');
    writer.hasten(job());
    await pass(0);
    writer.hasten(job());
    await pass(5000);
    expect(writes).toEqual(['1000 llm 1', '6000 llm 2']);
  });

  it('are written once a second at most, however many faults are reported', async () => {
    for (let time = 0; time < 20; time++) {
      writer.take(pod('a'), 0, step(time));
      writer.hasten(job());
      await pass(100);
    }
    expect(writes).toEqual(['1000 llm 0', '2000 llm 9', '3000 llm 19']);
  });

  it('are those of rank 0, or of the lowest rank that reports', async () => {
    expect(writer.take(pod('c'), 2, step(12))).toBe('accepted');
    expect(writer.take(pod('d'), 3, step(13))).toBe('not-its-turn');
    expect(writer.take(pod('b'), 1, step(11))).toBe('accepted');
    expect(writer.take(pod('c'), 2, step(22))).toBe('not-its-turn');
    await pass(30_000);
    expect(writes).toEqual(['1000 llm 11']);
    gone.add('b');
    writer.take(pod('d'), 3, step(23));
    await pass(0);
    expect(writes.at(-1)).toBe('31000 llm 23');
  });

  it('believe a trainer that goes back to its checkpoint', async () => {
    writer.take(pod('a'), 0, step(100));
    expect(writer.take(pod('a'), 0, step(90))).toBe('stepped-back');
    await pass(20_000);
    expect(writes.at(-1)).toMatch(/ llm 90$/);
  });

  it('are written again with what is newest by then, after the API server has failed', async () => {
    answer = () => Promise.reject(new Error('no'));
    writer.take(pod('a'), 0, step(1));
    await pass(500);
    writer.take(pod('a'), 0, step(2));
    answer = () => true;
    await pass(1000);
    expect(writes).toEqual(['1000 llm 1', '2000 llm 2']);
    await pass(60_000);
    expect(writes).toHaveLength(2);
  });

  it('are rarely tried while the API server keeps failing', async () => {
    answer = () => Promise.reject(new Error('no'));
    writer.take(pod('a'), 0, step(1));
    await pass(3600_000);
    expect(writes.length).toBeLessThan(70);
  });

  it('are forgotten with their job', async () => {
    answer = () => false;
    writer.take(pod('a'), 0, step(1));
    await pass(0);
    expect(writer.size).toBe(0);
    answer = () => true;
    writer.take(pod('a'), 0, step(2));
    writer.forget(job().uid);
    await pass(60_000);
    expect(writes).toEqual(['1000 llm 1']);
  });

  it('are left alone by the next leader while they say the same, and changed without haste', async () => {
    annotated = step(5);
    writer.take(pod('a'), 0, step(5));
    await pass(1000);
    writer.take(pod('a'), 0, step(6));
    await pass(20_000);
    expect(writes).toEqual(['16000 llm 6']);
  });

  it('are changed at once by the next leader when they are of an earlier attempt', async () => {
    annotated = step(5, { at: '2026-11-21T06:00:00Z' });
    writer.take(pod('a'), 0, step(4));
    await pass(0);
    expect(writes).toEqual(['1000 llm 4']);
  });

  it('are remembered for a limited number of jobs', async () => {
    open({ most: 2 });
    for (const name of ['a', 'b', 'a', 'c']) writer.take(pod(`of-${name}`, job(name)), 0, step(1));
    expect(writer.size).toBe(2);
    await pass(0);
    expect(writes).toEqual(['1000 a 1', '1000 c 1']);
  });

  it('are written for a limited number of jobs at a time, and for all of them', async () => {
    open({ parallel: 2 });
    const held: (() => void)[] = [];
    answer = () => new Promise<boolean>((done) => void held.push(() => done(true)));
    for (const name of ['a', 'b', 'c']) writer.take(pod(`of-${name}`, job(name)), 0, step(1));
    await pass(0);
    expect(writes).toEqual(['1000 a 1', '1000 b 1']);
    held[0]?.();
    await settle();
    expect(writes).toEqual(['1000 a 1', '1000 b 1', '1000 c 1']);
  });

  it('are not begun by a controller that no longer leads, though some wait for their turn', async () => {
    open({ parallel: 1 });
    let end: (() => void) | undefined;
    answer = () => new Promise<boolean>((done) => void (end = () => done(true)));
    for (const name of ['a', 'b']) writer.take(pod(`of-${name}`, job(name)), 0, step(1));
    await pass(0);
    writer.take(pod('of-a', job('a')), 0, step(2, { phase: 'evaluating' }));
    over.abort();
    end?.();
    await pass(60_000);
    expect(writes).toEqual(['1000 a 1']);
  });

  it('have the time at which a step was done, not that of a repeated report, under every leader', async () => {
    const later = '2026-11-21T07:09:00.000Z';
    writer.take(pod('a'), 0, step(5, { checkpointStep: 1 }));
    writer.take(pod('a'), 0, step(5, { checkpointStep: 5, at: later }));
    await pass(0);
    expect(last).toEqual({ step: 5, checkpointStep: 5, at, pod: 'a' });
    annotated = last;
    open();
    writer.take(pod('a'), 0, step(5, { checkpointStep: 5, at: later }));
    await pass(60_000);
    expect(writes).toHaveLength(1);
    gone.add('a');
    writer.take(pod('b'), 0, step(5, { at: later }));
    await pass(0);
    expect(last).toEqual({ step: 5, at: later, pod: 'b' });
  });

  it('have what makes training slow, while it is', async () => {
    slow = { since: at, bestMsPerStep: 200 };
    for (const second of [0, 1]) writer.take(pod('p'), 0, step(second, { at: `2026-11-21T07:01:0${second}.000Z` }));
    await pass(0);
    expect(last?.pace).toEqual({ msPerStep: 1000, slow });
  });

  it('have the pace with the next step, and are not written for it alone', async () => {
    annotated = step(0, { pace: { msPerStep: 500, stepsPerCheckpoint: 50 } });
    for (const [second, done] of [1, 2, 2, 2].entries()) {
      writer.take(pod('a'), 0, { step: done, at: new Date(Date.parse(at) + done * 400).toISOString() });
      await pass(second === 1 ? 20_000 : 5000);
    }
    await pass(60_000);
    expect(writes).toHaveLength(1);
    expect(last).toMatchObject({ step: 2, pace: { msPerStep: 400, stepsPerCheckpoint: 50 } });
  });

  it('measure nothing across two attempts', async () => {
    writer.take(pod('a'), 0, step(1));
    await pass(20_000);
    gone.add('a');
    writer.take(pod('b'), 0, { step: 2, at: '2026-11-21T09:00:00.000Z' });
    await pass(0);
    expect(last).not.toHaveProperty('pace');
  });

  it('show within a second when training pauses for another phase, and when it continues', async () => {
    writer.take(pod('a'), 0, step(1, { phase: 'training' }));
    await pass(3000);
    writer.take(pod('a'), 0, step(2, { phase: 'training' }));
    writer.take(pod('a'), 0, step(2, { phase: 'evaluating' }));
    await pass(500);
    writer.take(pod('a'), 0, step(2, { phase: 'compiling' }));
    await pass(1000);
    writer.take(pod('a'), 0, step(3, { phase: 'training' }));
    await pass(2000);
    expect(writes).toEqual(['1000 llm 1', '4000 llm 2', '5500 llm 3']);
    expect(last?.phase).toBe('training');
  });

  it('have a checkpoint that a terminating pod saves at once, and its other steps without haste', async () => {
    writer.take(pod('a'), 0, step(100, { checkpointStep: 90 }));
    await pass(2000);
    const going = { ...pod('a'), present: false };
    writer.take(going, 0, step(101, { checkpointStep: 90 }));
    await pass(1000);
    writer.take(going, 0, step(101, { checkpointStep: 101 }));
    await pass(0);
    expect(writes).toEqual(['1000 llm 100/90', '4000 llm 101/101']);
  });

  it('are those of one pod, where several have its rank', async () => {
    writer.take(pod('a'), 0, step(1));
    expect(writer.take(pod('b'), 0, step(2))).toBe('not-its-turn');
  });
});
