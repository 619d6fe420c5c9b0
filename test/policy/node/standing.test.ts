import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../../contract/faults/faults.ts';
import { foldStanding, type ShownFault, type StandingFaults, takeDue } from '../../../policy/node/standing.ts';

const fault = (id: string): Fault => ({
  id,
  source: 'condition',
  code: 'condition/KernelDeadlock',
  message: 'm',
  seenAt: '2026-11-22T10:00:00Z',
});
const shown = (id: string, debounceMs = 100): ShownFault => ({ fault: fault(id), debounceMs });
const none: StandingFaults = new Map();

describe('faults that stand', () => {
  it('are due once, after they have stood for their time', () => {
    const first = foldStanding(none, [shown('a'), shown('b', 300)], 0);
    expect(takeDue(first, 99)).toMatchObject({ due: [], lookAt: 100 });
    const { due, after, lookAt } = takeDue(first, 100);
    expect([due.map(({ id }) => id), lookAt]).toEqual([['a'], 300]);
    const again = foldStanding(after, [shown('a'), shown('b', 300)], 200);
    expect(takeDue(again, 200)).toMatchObject({ due: [], lookAt: 300 });
    expect(takeDue(again, 300).due.map(({ id }) => id)).toEqual(['b']);
  });

  it('that were gone in between stand from the beginning', () => {
    const first = foldStanding(none, [shown('a')], 0);
    const back = foldStanding(foldStanding(first, [], 50), [shown('a')], 60);
    expect(takeDue(back, 100).due).toEqual([]);
    expect(takeDue(back, 160).due.map(({ id }) => id)).toEqual(['a']);
  });
});
