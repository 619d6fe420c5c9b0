import { describe, expect, it } from '@jest/globals';
import { foldJob, foldRecovery, type Moment } from '../../cli/plan/told.ts';
import type { RecoveryInput, RecoveryOutcome } from '../../contract/recovery.ts';
import type { CarriedJob } from '../../contract/training-job.ts';
import { job, kernelFault, podFault } from '../support/builders.ts';

const incident = 'recovery/train/llm/job-uid/1';
const told = (at: number, ...faults: ReturnType<typeof kernelFault>[]): Moment => ({ at, kind: 'faults', faults });
const report = (more: Partial<RecoveryOutcome> = {}): RecoveryOutcome => ({
  incident,
  outcome: 'restarted',
  because: 'it runs',
  stops: 1,
  begun: 1,
  faults: [],
  ...more,
});
const carried: CarriedJob = { optedInAt: '2026-11-21T06:00:00Z', inbox: [podFault()], wishes: [], spent: [], seen: ['kernel/boot-1/1'], dropped: 0 };

describe('what the history of a job tells', () => {
  it('are the faults that no recovery took into account', () => {
    const moments: Moment[] = [
      told(1, kernelFault(), podFault()),
      { at: 2, kind: 'began', incident },
      { at: 3, kind: 'ended', report: report({ faults: [kernelFault().id], attemptStartedAt: '2026-11-21T07:00:00Z' }) },
    ];
    expect(foldJob(undefined, moments)).toEqual({
      fresh: [podFault()],
      spent: [{ incident, startedAt: 2, endedAt: 3 }],
      attemptStartedAt: '2026-11-21T07:00:00Z',
    });
  });

  it('goes on from what an earlier run carried over', () => {
    const seen = kernelFault({ id: 'kernel/boot-1/1' });
    expect(foldJob({ job, carried }, [told(1, seen, kernelFault())]).fresh).toEqual([podFault(), kernelFault()]);
  });

  it('is the recovery that is open, and a pause that nobody ended', () => {
    const paused = { by: 'ada', reason: 'by hand' };
    const begun: Moment[] = [
      { at: 1, kind: 'began', incident },
      { at: 2, kind: 'paused', by: paused },
    ];
    expect(foldJob(undefined, begun)).toMatchObject({ open: incident, paused });
    const over = foldJob(undefined, [...begun, { at: 3, kind: 'ended', report: report() }, { at: 4, kind: 'paused', by: undefined }]);
    expect(Object.keys(over)).toEqual(['fresh', 'spent']);
  });

  it('charges nothing for a recovery that began no stop', () => {
    const moments: Moment[] = [
      { at: 1, kind: 'began', incident },
      { at: 2, kind: 'ended', report: report({ begun: 0 }) },
    ];
    expect(foldJob(undefined, moments).spent).toEqual([]);
  });
});

describe('what the history of a recovery tells', () => {
  it('are the faults that its last stop answered, and those that came after it', () => {
    const input = { incident, job, faults: [kernelFault()], limits: { attempts: 3 }, askedBy: { by: 'ada', reason: 'x' } } as unknown as RecoveryInput;
    const later = podFault();
    expect(foldRecovery(input, [{ at: 1, kind: 'stopped' }, told(2, later)])).toEqual({
      fresh: [later],
      answered: [kernelFault()],
      open: { incident, stops: 1, attempts: 3, asked: true },
    });
  });

  it('is the newer word of a node about a fault that was told before', () => {
    const input = { incident, job, faults: [kernelFault()], limits: { attempts: 3 } } as unknown as RecoveryInput;
    const hold = { state: 'quarantined', because: 'Xid 79' } as const;
    expect(foldRecovery(input, [told(1, kernelFault({ hold })), told(2, kernelFault())]).fresh).toEqual([kernelFault({ hold })]);
  });
});
