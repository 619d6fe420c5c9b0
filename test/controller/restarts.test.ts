import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { AskedRestart, RestartAnswer, RestartAnswers } from '../../contract/progress/restart.ts';
import { type AskedPod, passOnRestarts, type Restarts } from '../../controller/progress/restarts.ts';
import type { KnownJob } from '../../controller/watch/known-jobs.ts';

const ref: JobRef = { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'job-uid' };
const question: AskedRestart = {
  id: 'recovery/train/llm/job-uid/t#1',
  reason: 'llm-worker-0 ended with exit code 1',
  askedAt: '2026-11-21T07:10:00Z',
  deadline: '2026-11-21T07:12:00Z',
};
const { id, reason, deadline } = question;
const jobWith = (restart: AskedRestart | undefined, optedIn = true): KnownJob => ({
  ref,
  optedIn,
  optedInAt: '2026-11-21T06:00:00Z',
  restartPolicy: 'OnFailure',
  podsExpected: 3,
  toleratesQuarantine: false,
  canStopBy: ['suspend'],
  resourceVersion: '1',
  wantsRecovery: false,
  ...(restart && { restart }),
});

let pods: Map<string, Omit<AskedPod, 'job'>>;
let job: KnownJob;
let now: number;
let written: RestartAnswers[];
let write: (answers: RestartAnswers) => Promise<boolean>;
let restarts: Restarts;
let term: AbortController;

const open = (): Restarts =>
  passOnRestarts({
    pod: (uid) => {
      const pod = pods.get(uid);
      return pod && { ...pod, job };
    },
    write: async (_ref, _id, answers) => {
      written.push(answers);
      return write(answers);
    },
    now: () => now,
    signal: term.signal,
  });
beforeEach(() => {
  term = new AbortController();
  pods = new Map([0, 1, 2].map((rank) => [`rank-${rank}`, { rank, createdAt: '2026-11-21T07:00:00Z' }]));
  [job, now, written, write] = [jobWith(question), Date.parse('2026-11-21T07:10:30Z'), [], async () => true];
  restarts = open();
});

const answer = (rank: number, status: RestartAnswer['status'], because?: string) =>
  restarts.answer(`rank-${rank}`, { id, status, because });
const asked = (): string[] => [...pods.keys()].filter((uid) => restarts.requestFor(uid) !== undefined);

describe('a job whose processes are asked to restart training', () => {
  it('has the question for each of its pods, until that is done', async () => {
    expect(restarts.requestFor('rank-0')).toEqual({ id, reason, deadline });
    expect(await answer(0, 'accepted')).toBe(true);
    expect(asked()).toEqual(['rank-0', 'rank-1', 'rank-2']);
    expect(await answer(0, 'done')).toBe(true);
    expect(asked()).toEqual(['rank-1', 'rank-2']);
    expect(written).toEqual([
      { accepted: [0], done: [] },
      { accepted: [], done: [0] },
    ]);
  });

  it('has no question for any pod after one has refused, and the reason in one clean line without secrets', async () => {
    await answer(1, 'refused', 'its device\n is \u001B[31mgone\u0007, password=hunter2hunter2');
    expect(written).toEqual([
      {
        accepted: [],
        done: [],
        refused: { rank: 1, because: expect.stringMatching(/^its device is gone, password=/) },
      },
    ]);
    expect(JSON.stringify(written)).not.toContain('hunter2');
    expect(asked()).toEqual([]);
  });

  it.each<[string, () => void]>([
    ['after the deadline', () => (now = Date.parse(deadline))],
    ['while the job is not opted in', () => (job = jobWith(question, false))],
    ['without a question', () => (job = jobWith(undefined))],
    [
      'of a pod that was created after the question',
      () => pods.set('rank-0', { rank: 0, createdAt: '2026-11-21T07:10:01Z' }),
    ],
    ['of a pod that is no longer of the latest attempt', () => pods.delete('rank-0')],
  ])('records no answer %s, and asks it nothing', async (_when, change) => {
    change();
    expect(restarts.requestFor('rank-0')).toBeUndefined();
    expect(await answer(0, 'accepted')).toBe(false);
    expect(written).toEqual([]);
  });

  it('records no answer to another question, and none of an earlier one for a new one', async () => {
    expect(await restarts.answer('rank-0', { id: 'another#1', status: 'accepted' })).toBe(false);
    await answer(0, 'refused');
    job = jobWith({ ...question, id: 'another#1' });
    expect(asked()).toEqual(['rank-0', 'rank-1', 'rank-2']);
  });

  it('keeps the answers that an earlier leader has written', async () => {
    job = jobWith({ ...question, answers: { accepted: [2], done: [1] } });
    await answer(0, 'accepted');
    expect(written).toEqual([{ accepted: [2, 0], done: [1] }]);
    expect(asked()).toEqual(['rank-0', 'rank-2']);
  });

  it('writes the answers of many ranks with few requests, and confirms each only when it is written', async () => {
    const gate = Promise.withResolvers<boolean>();
    write = () => gate.promise;
    const confirmed: number[] = [];
    const all = [0, 1, 2].map((rank) => answer(rank, 'accepted').then(() => confirmed.push(rank)));
    await Promise.resolve();
    expect([written.length, confirmed]).toEqual([1, []]);
    gate.resolve(true);
    await Promise.all(all);
    expect(written).toEqual([
      { accepted: [0], done: [] },
      { accepted: [0, 1, 2], done: [] },
    ]);
  });

  it('writes nothing when another controller may lead, and confirms only what was written', async () => {
    const gate = Promise.withResolvers<boolean>();
    write = () => gate.promise;
    const all = [0, 1].map((rank) => answer(rank, 'accepted'));
    term.abort(new Error('no longer leading'));
    gate.resolve(true);
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(answer(2, 'accepted')).rejects.toThrow('no longer leading');
    expect(written).toEqual([{ accepted: [0], done: [] }]);
  });

  it('writes an answer that could not be written with the next one, which may be the same', async () => {
    write = () => Promise.reject(new Error('the API server is gone'));
    await expect(answer(0, 'accepted')).rejects.toThrow('gone');
    write = async () => true;
    expect(await answer(0, 'accepted')).toBe(true);
    expect(written).toHaveLength(2);
    expect(await answer(0, 'accepted')).toBe(true);
    expect(written).toHaveLength(2);
  });
});
