import { describe, expect, it } from '@jest/globals';
import { firstState, type NodeState } from '../../workflows/node/state.ts';
import { nodeTransitions } from '../../workflows/node/transitions.ts';
import { nodeView } from '../support/builders.ts';
import { findDefect, findViolation } from '../support/machine-properties.ts';
import { asBefore, defect, type table, without } from './node-defect.ts';
import { property } from './node-driver.ts';

const incident = 'node/gpu-3/2026-11-21T07:09:03.117Z';
const quarantine = { incident, since: 0, because: 'xid/79', reason: 'xid-79', taint: 'ours', by: 'kcover' } as const;
/** Its repair waits for the end of the probation. */
const probation: NodeState = {
  ...firstState('gpu-3', 0),
  phase: 'quarantined',
  view: nodeView({ taint: { value: 'xid-79', ours: true, incident } }),
  quarantine,
  remedy: { incident, phase: 'probation', because: 'proven', at: '', remediations: [] },
};

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
    'a fault that comes when the release is decided',
    /in spite of a fault/,
    defect('deciding', 'decided', (after, { release }) => (release?.by === 'kcover' ? { ...after, release } : after)),
  ],
  [
    'a repair that is shown for the next quarantine',
    /earlier quarantine is shown/,
    defect('observing', 'observed', (after, { remedy }) => ({ ...after, remedy })),
  ],
  ['progress that is not kept', /was lost/, defect('deciding', 'remedyProgressed', asBefore)],
];

/** From a state that few random orders of events reach. */
const onProbation = () => ({ ...property(), first: () => probation });

describe('the machine of a node whose repair goes on', () => {
  it.each(defects)('is found to break its invariants with %s', (_name, found, machine) => {
    expect(findDefect(machine, onProbation(), found) ?? findDefect(machine, property(), found)).toMatch(found);
  });

  it('does not release a node on which a fault was judged while its repair ended, and is found to by a defect', () => {
    const found = /in spite of a fault|in probation is overlooked/;
    expect(findViolation(nodeTransitions, onProbation(), 3000, found)).toBeUndefined();
    const forgetful = defect('deciding', 'decided', (after) => ({ ...after, doubted: false }));
    expect(findDefect(forgetful, onProbation(), found)).toMatch(/in probation is overlooked/);
  });
});
