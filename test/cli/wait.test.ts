import { describe, expect, it } from '@jest/globals';
import { judge } from '../../cli/wait/verdict.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';

const [before, after] = ['recovery/train/llm/0b1c/1', 'recovery/train/llm/0b1c/2'];
const watched: JobStatus = {
  job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: '0b1c' },
  phase: 'watching',
  because: 'no fault',
  waitingFor: 'a fault',
  since: '2026-11-20T23:00:00.000Z',
  recoveriesThisHour: 0,
  dropped: 0,
};
const ended = (incident: string, outcome: NonNullable<JobStatus['last']>['outcome']): JobStatus => ({
  ...watched,
  last: { incident, outcome, because: 'of this', at: '2026-11-21T07:09:13Z' },
});
const recovering: JobStatus = { ...ended(before, 'restarted'), phase: 'recovering', incident: after };

/** `closed`: the workflow of the job does not run any more. */
const verdict = (condition: Parameters<typeof judge>[0], status: JobStatus, { closed = false } = {}) =>
  judge(condition, { isRunning: !closed, status }, before).kind;

describe('kcover wait --for recovered', () => {
  it('waits while an incident is open, or none has ended since', () => {
    expect(verdict('recovered', watched)).toBe('not-yet');
    expect(verdict('recovered', recovering)).toBe('not-yet');
    expect(verdict('recovered', ended(before, 'restarted'))).toBe('not-yet');
    expect(verdict('recovered', ended(before, 'escalated'))).toBe('not-yet');
  });

  it('waits while further faults are being judged', () => {
    expect(verdict('recovered', { ...ended(after, 'restarted'), phase: 'waiting' })).toBe('not-yet');
    expect(verdict('recovered', { ...ended(after, 'restarted'), phase: 'recovering' })).toBe('not-yet');
  });

  it.each(['recovered', 'restarted'] as const)('is met by an incident that ended as %s', (outcome) => {
    expect(judge('recovered', { isRunning: true, status: ended(after, outcome) }, before)).toEqual({
      kind: 'holds',
      because: `${outcome}: of this`,
      incident: after,
    });
  });

  it.each(['refused', 'failed', 'cancelled', 'escalated'] as const)('gives up after one that %s', (outcome) => {
    expect(judge('recovered', { isRunning: true, status: ended(after, outcome) }, before)).toEqual({
      kind: 'otherwise',
      because: `${outcome}: of this`,
      incident: after,
    });
  });

  it('gives up when the job has ended, unless its incident ended well before', () => {
    const over = (status: JobStatus): JobStatus => ({ ...status, phase: 'ended', because: 'the job is gone' });
    expect(verdict('recovered', over(ended(before, 'restarted')), { closed: true })).toBe('otherwise');
    expect(verdict('recovered', over(ended(after, 'restarted')), { closed: true })).toBe('holds');
  });

  it('gives up when the workflow was terminated, whatever its last status said', () => {
    expect(verdict('recovered', recovering, { closed: true })).toBe('otherwise');
    expect(verdict('recovered', ended(after, 'restarted'), { closed: true })).toBe('otherwise');
  });
});

describe('kcover wait --for protected and --for idle', () => {
  it('take a job for protected once its workflow runs and has read it', () => {
    expect(verdict('protected', { ...watched, phase: 'starting' })).toBe('not-yet');
    expect(verdict('protected', watched)).toBe('holds');
    expect(verdict('protected', recovering)).toBe('holds');
    expect(verdict('protected', watched, { closed: true })).toBe('not-yet');
    expect(verdict('protected', { ...watched, phase: 'ended' }, { closed: true })).toBe('not-yet');
  });

  it('take a job for idle when no incident is open and no fault is judged', () => {
    expect(verdict('idle', watched)).toBe('holds');
    expect(verdict('idle', ended(after, 'escalated'))).toBe('holds');
    expect(verdict('idle', { ...watched, phase: 'ended' }, { closed: true })).toBe('holds');
    expect(verdict('idle', { ...watched, phase: 'waiting' })).toBe('not-yet');
    expect(verdict('idle', recovering)).toBe('not-yet');
  });
});
