import { describe as suite, expect, it } from '@jest/globals';
import { describe } from '../../cli/commands/status.ts';
import type { RecoveryStatus } from '../../contract/recovery.ts';
import type { JobStatus } from '../../contract/training-job.ts';

const now = Date.parse('2026-11-21T07:09:13Z');
const incident = 'recovery/train/llm/0b1c/2026-11-21T07:09:03.117Z';
const watched: JobStatus = {
  job: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: '0b1c' },
  phase: 'watching',
  because: 'no fault',
  waitingFor: 'a fault',
  since: '2026-11-20T23:00:00.000Z',
  spentThisHour: 0,
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
  faults: [{ id: 'f', code: 'xid/79', message: 'GPU has fallen off the bus', node: 'gpu-3', hold: { state: 'quarantined', because: 'Xid 79' } }],
  timeline: [{ at: '2026-11-21T07:09:10Z', what: 'attempt 1 stopped', because: '4 pods by suspend' }],
};

suite('the page of kcover status', () => {
  it('says what a watched job waits for', () => {
    expect(describe(watched, {}, now).split('\n')).toEqual([
      'train/llm   watching   waiting for a fault',
      '  because   no fault',
      '  now       watching since 2026-11-20 23:00:00 (8h 9m ago)',
      '  next      a fault, or kcover recover, opens an incident',
      '  budget    0 recoveries in the last hour',
    ]);
  });

  it('tells an open incident in the words of its recovery, with what is left until the deadline', () => {
    const job: JobStatus = { ...watched, phase: 'recovering', incident, spentThisHour: 1 };
    expect(describe(job, { recovery: open }, now).split('\n')).toEqual([
      'train/llm   recovering: waiting for placement   waiting for all new pods ready until 07:14:04 (4m 51s left)',
      '  because    0/8 nodes are available: 7 insufficient nvidia.com/gpu',
      '  now        attempt 2; 07:09:10 attempt 1 stopped (4 pods by suspend)',
      '  next       nothing is deleted again; it goes on when the scheduler finds room',
      '  faults     xid/79 on gpu-3 (quarantined): GPU has fallen off the bus',
      '  budget     1 recovery in the last hour',
      `  incident   ${incident}`,
    ]);
  });

  it('says what the last incident began with, and how much the budget allows', () => {
    const last = { incident, outcome: 'restarted', because: 'all 4 pods run again', at: '2026-11-21T07:09:01Z' } as const;
    const text = describe(
      { ...watched, last, spentThisHour: 1 },
      { cause: 'xid/79 on gpu-3: GPU has fallen off the bus', budget: { recoveries: 5, window: 7_200_000 } },
      now,
    );
    expect(text.split('\n').slice(-3)).toEqual([
      '  budget    1 recovery in the last hour; 5 may be in 2h',
      '  last      restarted 12s ago: all 4 pods run again',
      '  cause     xid/79 on gpu-3: GPU has fallen off the bus',
    ]);
  });

  it('lets no message of others steer the terminal', () => {
    const text = describe({ ...watched, because: 'Unschedulable\u001b[2J\nroot: all is well' }, {}, now);
    expect(text).toContain('  because   Unschedulable [2J root: all is well\n');
  });
});
