import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, oneof, property, string } from 'fast-check';
import { foldEvent, type FoldedLog } from '../../../agent/logs/fold.ts';
import { logReports } from '../../../contract/progress/logs.schema.ts';
import { createLogReader } from '../../../faults/logs/log-reader.ts';
import type { LogEvent } from '../../../faults/logs/log-event.ts';

const at = (second: number): string => `2026-11-22T22:00:${String(second).padStart(2, '0')}.000Z`;
const fold = (...events: LogEvent[]): FoldedLog | undefined =>
  events.reduce<FoldedLog | undefined>((seen, event, second) => foldEvent(seen, event, at(second)), undefined);

describe('what a log has said so far', () => {
  it('is its last step, with the time at which it was done first', () => {
    expect(fold({ kind: 'step', step: 7 }, { kind: 'step', step: 8 }, { kind: 'step', step: 8 })).toEqual({
      at: at(2),
      step: 8,
      stepAt: at(1),
    });
  });

  it('is a checkpoint of the step that the line names, or of the last one', () => {
    expect(fold({ kind: 'step', step: 7 }, { kind: 'checkpoint', step: 5 })).toMatchObject({ checkpointStep: 5 });
    expect(fold({ kind: 'step', step: 7 }, { kind: 'checkpoint' })).toMatchObject({ checkpointStep: 7 });
    expect(fold({ kind: 'checkpoint' })).toBeUndefined();
  });

  it('is another phase until the next step, or until its checkpoint is complete', () => {
    const saving = { kind: 'phase', phase: 'saving' } as const;
    expect(fold({ kind: 'step', step: 7 }, saving)).toMatchObject({ phase: 'checkpointing', phaseAt: at(1) });
    expect(fold(saving, { kind: 'checkpoint', step: 7 })).toMatchObject({ phase: 'training' });
    expect(fold(saving, { kind: 'step', step: 8 })).toEqual({ at: at(1), step: 8, stepAt: at(1) });
    expect(fold({ kind: 'phase', phase: 'evaluating' }, { kind: 'checkpoint', step: 7 })).toMatchObject({
      phase: 'evaluating',
    });
  });

  it('keeps the last lines of watchdogs, however many there are', () => {
    const many = Array.from({ length: 50 }, (_, rank) => ({ kind: 'watchdog', what: 'timeout', rank }) as const);
    const kept = fold(...many)?.watchdogs ?? [];
    expect(kept.map(({ rank }) => rank)).toEqual(Array.from({ length: 16 }, (_, index) => 34 + index));
  });

  it('counts the straggler reports that name the same rank in a row', () => {
    const names = (rank: number) => ({ kind: 'straggler', rank }) as const;
    expect(fold(names(3), names(3), { kind: 'step', step: 7 }, names(3))?.straggler).toEqual({
      at: at(3),
      rank: 3,
      reports: 3,
    });
    expect(fold(names(3), names(3), names(4))?.straggler).toEqual({ at: at(2), rank: 4, reports: 1 });
  });

  it('is a report that the controller can read, whatever the lines say', () => {
    const word = oneof(
      string({ unit: 'binary', maxLength: 40 }),
      constantFrom(
        'iteration ',
        '99999999999999999999/',
        'Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, ',
        '[rank3]:',
        '[PG ID 0 PG GUID 0(\u202Edefault_pg) Rank 3] ',
        'failure detected by watchdog at work sequence id: 7 PG status: last enqueued work: -1, last completed work: -1',
        'successfully saved checkpoint from iteration     100 to /ckpt',
        'global_step: 9 |',
      ),
    );
    assert(
      property(array(array(word, { maxLength: 6 }), { maxLength: 20 }), (lines) => {
        const reader = createLogReader({ preset: 'auto' });
        const events = lines.flatMap((words) => reader.take(words.join('')));
        const folded = events.reduce<FoldedLog | undefined>((seen, event) => foldEvent(seen, event, at(1)), undefined);
        const report = folded && { pod: 'uid', ...folded };
        const parsed = logReports.safeParse({ schema: 1, node: 'gpu-1', read: [], logs: report ? [report] : [] });
        expect(parsed.error?.issues ?? []).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
