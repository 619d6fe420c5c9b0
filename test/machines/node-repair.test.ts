import { describe, expect, it } from '@jest/globals';
import type { NodeState } from '../../workflows/node/state.ts';
import { findViolation } from '../support/machine-properties.ts';
import { asBefore, defect, type table, without } from './node-defect.ts';
import { property } from './node-driver.ts';

const withStart = (state: NodeState, incident: string): NodeState => ({
  ...state,
  outbox: [...state.outbox, { to: 'remedy', incident, start: { incident } as never }],
});

const defects: readonly (readonly [name: string, found: RegExp, machine: typeof table])[] = [
  [
    'a repair that is started by every look',
    /started twice/,
    defect('observing', 'observed', (after) =>
      after.phase === 'quarantined' && after.remedy ? withStart(after, after.quarantine.incident) : after,
    ),
  ],
  [
    "a repair of a person's quarantine",
    /may not repair/,
    defect('quarantining', 'quarantineWritten', (after) =>
      after.quarantine?.by === 'ada' ? withStart(after, after.quarantine.incident) : after,
    ),
  ],
  [
    'a repair that goes on after a release',
    /outlives its quarantine/,
    defect('quarantined', 'releaseBegun', (after) => without(after, 'remedy')),
  ],
  [
    'a node that is released although nothing cured it',
    /not cured/,
    defect('quarantined', 'remedyProgressed', (after, _, event) =>
      event.kind === 'remedyProgressed' && event.progress.outcome === 'exhausted'
        ? { ...after, release: { by: 'kcover', reason: 'x' } }
        : after,
    ),
  ],
  [
    'a repair that is shown for the next quarantine',
    /earlier quarantine is shown/,
    defect('observing', 'observed', (after, { remedy }) => ({ ...after, remedy })),
  ],
  ['progress that nobody keeps', /was lost/, defect('deciding', 'remedyProgressed', asBefore)],
];

describe('the machine of a node whose repair goes on', () => {
  it.each(defects)('is found to break its invariants with %s', (_name, found, machine) => {
    expect(findViolation(machine, property(), 20_000, found)).toMatch(found);
  });
});
