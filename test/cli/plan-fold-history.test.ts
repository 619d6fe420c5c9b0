import { describe, expect, it } from '@jest/globals';
import { foldJob, foldRecovery, type HistoryEntry } from '../../cli/plan/fold-history.ts';
import type { RecoveryInput, RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import { firstState, type JobState } from '../../workflows/job/state.ts';
import { job, kernelFault, podFault } from '../support/builders.ts';

const incident = 'recovery/train/llm/job-uid/1';
const faultsAt = (at: number, ...faults: ReturnType<typeof kernelFault>[]): HistoryEntry => ({
  at,
  kind: 'faults',
  faults,
});
const report = (more: Partial<RecoveryOutcome> = {}): RecoveryOutcome => ({
  incident,
  outcome: 'restarted',
  because: 'it runs',
  stops: 1,
  stopsStarted: 1,
  faults: [],
  ...more,
});
const continued: JobState = { ...firstState(0), inbox: [podFault()], seen: ['kernel/boot-1/1'] };

describe('what the history of a job shows', () => {
  it('are the faults that no recovery has handled', () => {
    const entries: HistoryEntry[] = [
      faultsAt(1, kernelFault(), podFault()),
      { at: 2, kind: 'began', incident },
      {
        at: 3,
        kind: 'ended',
        report: report({ faults: [kernelFault().id], attemptStartedAt: '2026-11-21T07:00:00Z' }),
      },
    ];
    expect(foldJob(undefined, entries)).toEqual({
      fresh: [podFault()],
      usage: [{ incident, startedAt: 2, endedAt: 3 }],
      attemptStartedAt: '2026-11-21T07:00:00Z',
    });
  });

  it('continues from the state of an earlier run', () => {
    const seen = kernelFault({ id: 'kernel/boot-1/1' });
    expect(foldJob({ job, state: continued }, [faultsAt(1, seen, kernelFault())]).fresh).toEqual([
      podFault(),
      kernelFault(),
    ]);
  });

  it('is the open recovery, and a pause that was not ended', () => {
    const paused = { by: 'ada', reason: 'by hand' };
    const stopsStarted: HistoryEntry[] = [
      { at: 1, kind: 'began', incident },
      { at: 2, kind: 'paused', by: paused },
    ];
    expect(foldJob(undefined, stopsStarted)).toMatchObject({ open: incident, paused });
    const over = foldJob(undefined, [
      ...stopsStarted,
      { at: 3, kind: 'ended', report: report() },
      { at: 4, kind: 'paused', by: undefined },
    ]);
    expect(Object.keys(over)).toEqual(['fresh', 'usage']);
  });

  it('counts no budget for a recovery that began no stop', () => {
    const entries: HistoryEntry[] = [
      { at: 1, kind: 'began', incident },
      { at: 2, kind: 'ended', report: report({ stopsStarted: 0 }) },
    ];
    expect(foldJob(undefined, entries).usage).toEqual([]);
  });
});

describe('what the history of a recovery shows', () => {
  it('are the faults that its last stop handled, and those that came after it', () => {
    const input = {
      incident,
      job,
      faults: [kernelFault()],
      limits: { attempts: 3 },
      askedBy: { by: 'ada', reason: 'x' },
    } as unknown as RecoveryInput;
    const later = podFault();
    expect(foldRecovery(input, [{ at: 1, kind: 'stopped' }, faultsAt(2, later)])).toEqual({
      fresh: [later],
      handled: [kernelFault()],
      open: { incident, stops: 1, attempts: 3, asked: true },
    });
  });

  it('is the newer judgement of a node for a fault that was reported before', () => {
    const input = { incident, job, faults: [kernelFault()], limits: { attempts: 3 } } as unknown as RecoveryInput;
    const quarantine = { state: 'quarantined', because: 'Xid 79' } as const;
    expect(foldRecovery(input, [faultsAt(1, kernelFault({ quarantine })), faultsAt(2, kernelFault())]).fresh).toEqual([
      kernelFault({ quarantine }),
    ]);
  });
});
