import { describe as suite, expect, it } from '@jest/globals';
import { describe, lineOf, type More } from '../../cli/commands/status.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';
import { settings } from '../support/builders.ts';

const now = Date.parse('2026-11-21T07:09:13Z');
const incident = 'recovery/train/llm/0b1c/2026-11-21T07:09:03.117Z';
const watched: JobStatus = {
  job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: '0b1c' },
  phase: 'watching',
  because: 'no fault',
  waitingFor: 'a fault',
  since: '2026-11-20T23:00:00.000Z',
  recoveriesThisHour: 0,
  dropped: 0,
};
const open: RecoveryStatus = {
  incident,
  phase: 'waiting for placement',
  attempt: 2,
  because: '0/8 nodes are available: 7 insufficient nvidia.com/gpu',
  waitingFor: 'all new pods ready',
  since: '2026-11-21T07:09:10Z',
  until: '2026-11-21T07:14:04Z',
  faults: [
    {
      id: 'f',
      code: 'xid/79',
      message: 'GPU has fallen off the bus',
      node: 'gpu-3',
      quarantine: { state: 'quarantined', because: 'Xid 79' },
    },
  ],
  timeline: [{ at: '2026-11-21T07:09:10Z', what: 'attempt 1 stopped', because: '4 pods by suspend' }],
};

suite('the page of kcover status', () => {
  it('shows what a watched job waits for', () => {
    expect(describe(watched, {}, now).split('\n')).toEqual([
      'train/llm   watching   waiting for a fault',
      '  because   no fault',
      '  now       watching since 2026-11-20 23:00:00 (8h 9m ago)',
      '  next      a fault, or kcover recover, opens an incident',
      '  budget    0 recoveries in the last hour',
    ]);
  });

  it('says in one line what --watch prints, without times that pass', () => {
    expect(lineOf(watched, undefined)).toBe('train/llm   watching   no fault');
    expect(lineOf({ ...watched, phase: 'recovering', incident }, open)).toBe(
      'train/llm   recovering: waiting for placement   until 2026-11-21T07:14:04Z   0/8 nodes are available: 7 insufficient nvidia.com/gpu',
    );
  });

  it('shows an open incident with the status of its recovery, and the time left until the deadline', () => {
    const job: JobStatus = { ...watched, phase: 'recovering', incident, recoveriesThisHour: 1 };
    expect(describe(job, { recovery: open }, now).split('\n')).toEqual([
      'train/llm   recovering: waiting for placement   waiting for all new pods ready until 07:14:04 (4m 51s left)',
      '  because    0/8 nodes are available: 7 insufficient nvidia.com/gpu',
      '  now        attempt 2; 07:09:10 attempt 1 stopped (4 pods by suspend)',
      '  next       nothing is deleted again; it goes on when the scheduler finds capacity',
      '  faults     xid/79 on gpu-3: GPU has fallen off the bus (node quarantined)',
      '  budget     1 recovery in the last hour',
      `  incident   ${incident}`,
    ]);
  });

  it('shows the commands that answer a request for approval', () => {
    const because = 'the job is dead and holds 64 GPUs: an approval is needed from 32 GPUs on';
    const question = {
      id: 'stop@2026-11-21T07:09:03.204Z',
      because,
      until: '2026-11-21T07:39:03.204Z',
      otherwise: 'deny',
    } as const;
    const recovery: RecoveryStatus = { ...open, phase: 'waiting for approval', because, question };
    const options = `-n train --question ${question.id} --reason "..."`;
    expect(describe({ ...watched, phase: 'recovering', incident }, { recovery }, now)).toContain(
      `  answer     kcover approve pytorchjob/llm ${options}, or kcover deny pytorchjob/llm ${options}\n`,
    );
  });

  it('shows who paused the job, and the command that resumes it', () => {
    const paused = { by: 'bob', reason: 'debugging by hand' };
    const lines = describe({ ...watched, phase: 'paused', paused }, {}, now).split('\n');
    expect(lines[0]).toBe('train/llm   paused   waiting for a fault');
    expect(lines).toContain('  paused    by bob: debugging by hand; kcover resume pytorchjob/llm -n train');
  });

  it('shows the training progress, where it is reported', () => {
    const lines = (progress: More['progress']) => describe(watched, { progress }, now).split('\n');
    const at = '2026-11-21T07:09:01Z';
    expect(lines({ step: 1200, checkpointStep: 1100, at })).toContain(
      '  training   step 1200, checkpoint 1100, 12s ago',
    );
    expect(lines({ step: 1200, at })).toContain('  training   step 1200, 12s ago');
    const pace = { msPerStep: 2000, slow: { since: '2026-11-21T07:00:00Z', bestMsPerStep: 1250 } };
    expect(lines({ step: 1200, at, pace })).toContainEqual(
      expect.stringMatching(/12s ago; slow since .*: 2s a step, 1.3s at best in this attempt$/),
    );
  });

  it('shows the cause of the last incident, and how much the budget allows', () => {
    const last = {
      incident,
      outcome: 'restarted',
      because: 'all 4 pods run again',
      at: '2026-11-21T07:09:01Z',
    } as const;
    const text = describe(
      { ...watched, last, recoveriesThisHour: 0, usage: [{ incident, startedAt: now - 90 * 60_000, blame: 'user' }] },
      {
        cause: 'xid/79 on gpu-3: GPU has fallen off the bus',
        budget: settings({ recovery: { budget: { window: '2h' } } }).recovery.budget,
      },
      now,
    );
    expect(text.split('\n').slice(-3)).toEqual([
      '  budget    1 recovery in the last 2h: hardware 0 of 20, platform 0 of 20, user 1 of 5, unknown 0 of 5',
      '  last      restarted 12s ago: all 4 pods run again',
      '  cause     xid/79 on gpu-3: GPU has fallen off the bus',
    ]);
  });

  it('shows the used budget by category, with the limits where the settings are given', () => {
    const usage = (['hardware', 'user', 'user', undefined] as const).map((blame, at) => ({
      incident: `${at}`,
      startedAt: now - at,
      ...(blame && { blame }),
    }));
    const job: JobStatus = { ...watched, recoveriesThisHour: 4, usageByCategory: { hardware: 1, user: 2 }, usage };
    expect(describe(job, {}, now)).toContain(
      '  budget    4 recoveries in the last hour: hardware 1, platform 0, user 2, unknown 0',
    );
    const { budget } = settings({ recovery: { budget: { user: 7 } } }).recovery;
    expect(describe(job, { budget }, now)).toContain(
      '  budget    4 recoveries in the last 1h: hardware 2 of 20, platform 1 of 20, user 3 of 7, unknown 1 of 5 (1 of unknown cause, counted in each)',
    );
  });

  it('lets no foreign message control the terminal', () => {
    const text = describe({ ...watched, because: 'Unschedulable\u001b[2J\nroot: all is well' }, {}, now);
    expect(text).toContain('  because   Unschedulable root: all is well\n');
  });
});
