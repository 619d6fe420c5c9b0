import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../contract/faults/faults.ts';
import type { NodeQuarantine } from '../../contract/node/nodes.ts';
import type { NodeEvent } from '../../workflows/node/events.ts';
import {
  firstState,
  type HeldQuarantine,
  heldFor,
  mayRelease,
  type NodeState,
  pendingWork,
} from '../../workflows/node/state.ts';
import { nextState } from '../../workflows/state-machine.ts';
import { kernelFault, nodeView } from '../support/builders.ts';
import { findDefect, findViolation } from '../support/machine-properties.ts';
import { asBefore, defect, table, without } from './node-defect.ts';
import { ada, driven, node, property, usual } from './node-driver.ts';

/** A node that is released, or quiet, with answers as usual, comes to its end. */
function isStuck(machine: typeof table, from: NodeState): boolean {
  let state = from;
  for (let step = 0; step < 60 && state.phase !== 'ended'; step++) {
    const at = 1_000_000 + step;
    const isIdle =
      state.outbox.length === 0 &&
      ['awaiting-reservation', 'quarantined'].includes(state.phase) &&
      pendingWork(state) === undefined;
    const event: NodeEvent =
      isIdle && state.release === undefined ? { kind: 'releaseRequested', request: ada } : driven(state, usual, at);
    state = nextState(machine, state, event);
  }
  return state.phase !== 'ended';
}

const quarantineOf = ({ held }: NodeState): NodeQuarantine => ({
  incident: held?.incident ?? '',
  since: 0,
  because: '',
  reason: '',
  taint: 'ours',
  by: 'kcover',
});
const omitReported = (held: HeldQuarantine): HeldQuarantine => {
  const { reported: _, ...rest } = held;
  return rest;
};

const ends = (machine: typeof table) =>
  property(({ after }) => (isStuck(machine, after) ? ['it never comes to its end'] : []));

const defects: readonly (readonly [name: string, found: RegExp, machine: typeof table])[] = [
  [
    'a quarantine that stays held',
    /quarantined and held/,
    defect('quarantining', 'quarantineWritten', (after, { held }) => ({ ...after, held }) as NodeState),
  ],
  [
    'a refusal that ends the wait',
    /only watched/,
    defect('reserving', 'refused', (after) => ({ ...after, phase: 'watching' }), 'watching'),
  ],
  [
    'a reservation that counts as a quarantine',
    /not read back/,
    defect(
      'reserving',
      'reserved',
      (after) => ({ ...after, phase: 'quarantined', quarantine: quarantineOf(after), held: undefined }),
      'quarantined',
    ),
  ],
  [
    'a write before the reservation',
    /has no reservation/,
    defect(
      'awaiting-reservation',
      'reservationBegun',
      (after) => ({ ...after, phase: 'quarantining' }) as NodeState,
      'quarantining',
    ),
  ],
  [
    'a release without a record',
    /without a record of its end/,
    defect('releasing', 'released', (after) => without(after, 'records')),
  ],
  [
    'a quarantine without a record',
    /began without a record/,
    defect('quarantining', 'quarantineWritten', (after) => without(after, 'records')),
  ],
  [
    'a failed release that counts',
    /failed ended the quarantine/,
    defect(
      'releasing',
      'releaseFailed',
      (after) => ({ ...after, quarantine: undefined, held: undefined, phase: 'watching' }),
      'watching',
    ),
  ],
  [
    'a failed release that is reported as done',
    /not confirmed/,
    defect(
      'releasing',
      'releaseFailed',
      (after) => ({ ...after, phase: 'closing', outcome: { node, outcome: 'released', because: '' } }),
      'closing',
    ),
  ],
  [
    'a failed release that is not tried again',
    /not tried again/,
    defect('releasing', 'releaseFailed', (after) => ({ ...after, releaseAt: undefined })),
  ],
  [
    'a release that stays without a quarantine',
    /later quarantine/,
    defect('observing', 'observed', (after, { release }) => ({ ...after, release })),
  ],
  [
    'a release that keeps its reservation',
    /reservation was not returned/,
    defect('releasing', 'released', (after) => without(after, 'cluster')),
  ],
  [
    'a machine that is gone and keeps its reservation',
    /reservation was not returned/,
    defect('observing', 'observed', (after) => without(after, 'cluster')),
  ],
  [
    'a decision that begins without its faults',
    /was lost/,
    defect('watching', 'decisionBegun', (after) => ({ ...after, phase: 'deciding', batch: { faults: [] } })),
  ],
  [
    'a decision that takes faults that came meanwhile',
    /was lost/,
    defect('deciding', 'decided', (after) => ({ ...after, inbox: [] })),
  ],
  ['faults that are not taken while it writes', /not taken/, defect('quarantining', 'faultsObserved', asBefore)],
  [
    'faults that are taken again',
    /taken twice/,
    defect('quarantined', 'faultsObserved', (after, before, event) =>
      'faults' in event ? { ...after, inbox: [...before.inbox, ...event.faults] } : after,
    ),
  ],
  [
    'a request that is dropped',
    /request was lost/,
    defect('quarantined', 'decisionBegun', (after) => ({
      ...after,
      phase: 'deciding',
      batch: { faults: after.phase === 'deciding' ? after.batch.faults : [] },
    })),
  ],
  [
    'a decision whose faults are forgotten',
    /was forgotten/,
    defect('deciding', 'decided', (after, { faults }) => ({ ...after, faults })),
  ],
  [
    'a change of the node that is forgotten',
    /not looked at/,
    defect('deciding', 'decided', (after) => ({ ...after, stale: false })),
  ],
  [
    'a notification that is forgotten',
    /notification was forgotten/,
    defect('reserving', 'refused', (after) => ({ ...after, recheck: false })),
  ],
  [
    'a failed write that is not looked at',
    /write that failed/,
    defect(
      'quarantining',
      'quarantineNotWritten',
      (after) => ({ ...after, phase: 'awaiting-reservation' }) as NodeState,
      'awaiting-reservation',
    ),
  ],
  [
    'a message that is skipped',
    /message was lost/,
    defect('quarantined', 'sent', (after) => ({ ...after, outbox: after.outbox.slice(1) })),
  ],
  [
    'an Event that a refusal drops',
    /that waited was lost/,
    defect('reserving', 'refused', (after) => ({
      ...after,
      outbox: after.outbox.filter((message) => message.to !== 'people' || message.event.reason !== 'FaultObserved'),
    })),
  ],
  [
    'jobs that are notified before the write',
    /not in force/,
    defect('reserving', 'reserved', (after) => ({
      ...after,
      outbox: [...after.outbox, { to: 'jobs', state: 'quarantined', faults: [] }],
    })),
  ],
  [
    'a refusal that is reported again and again',
    /reported twice/,
    defect(
      'reserving',
      'refused',
      (after) => ({ ...after, held: after.held && omitReported(after.held) }) as NodeState,
    ),
  ],
  ['a refusal that no job learns', /not reported/, defect('reserving', 'refused', (after) => without(after, 'jobs'))],
  [
    'a timer of before',
    /another deadline/,
    defect('watching', 'deadlinePassed', (after, _, event) =>
      'deadline' in event && event.deadline === -1
        ? { ...after, phase: 'closing', outcome: { node, outcome: 'quiet', because: '' } }
        : after,
    ),
  ],
  [
    'a timer that comes before what arrived',
    /before faults that wait/,
    defect('awaiting-reservation', 'deadlinePassed', (after, before, event) =>
      'deadline' in event && event.deadline !== -1
        ? ({ ...before, phase: 'reserving', afterwards: [] } as unknown as NodeState)
        : after,
    ),
  ],
  [
    'a decision whose counts are forgotten',
    /counts of rules were lost/,
    defect('deciding', 'decided', (after, { history }) => ({ ...after, history })),
  ],
  [
    'a release that forgets the counts',
    /counts of rules were lost/,
    defect('releasing', 'released', (after) => ({ ...after, history: [] })),
  ],
  [
    'jobs that are notified of a node that is only asked about',
    /only asked about/,
    defect('quarantining', 'quarantineWritten', (after) => ({
      ...after,
      outbox: [...after.outbox, { to: 'jobs', state: 'quarantined', faults: after.faults }],
    })),
  ],
  [
    'a fault that convicts a node and leaves it a question',
    /still a question|only asked about/,
    defect('deciding', 'decided', (after, { quarantine }) => ({ ...after, quarantine }) as NodeState),
  ],
  ['a new run that trusts the state', /look first/, defect('quarantined', 'runContinued', asBefore)],
  [
    'an end before its messages',
    /everything was sent/,
    defect('closing', 'sent', (after) => (after.phase === 'closing' ? { ...after, phase: 'ended' } : after), 'ended'),
  ],
  [
    'an end in spite of work',
    /with work to do/,
    defect('closing', 'eventsWritten', (after, before) =>
      before.phase === 'closing' ? { ...before, phase: 'ended' } : after,
    ),
  ],
  [
    'an event that counts after the end',
    /went on/,
    defect('ended', 'nodeObserved', (after) => ({ ...after, stale: true })),
  ],
  [
    'a phase that the table does not name',
    /does not say/,
    defect('deciding', 'decided', (after) => ({
      ...after,
      phase: 'closing',
      outcome: { node, outcome: 'quiet', because: '' },
    })),
  ],
];

describe('the machine of a node', () => {
  it('keeps its invariants in any order of events', () => {
    expect(findViolation(table, property())).toBeUndefined();
  });

  it.each(defects)('is found to break them with %s', (_name, found, machine) => {
    expect(findDefect(machine, property(), found)).toMatch(found);
  });

  it('comes to its end from every state when it is released, or quiet, though nothing is granted', () => {
    expect(findViolation(table, ends(table), 300)).toBeUndefined();
    const unreleasable = defect('quarantined', 'releaseBegun', asBefore);
    expect(findViolation(unreleasable, ends(unreleasable), 300)).toMatch(/never comes to its end/);
  });

  it('does not apply a release to a later quarantine when its own is no longer wanted', () => {
    const decided = {
      kind: 'quarantine',
      because: 'xid/79',
      faults: [kernelFault()],
      history: [],
      quietMs: 1,
      askAgainMs: 1,
      settings: 'x',
      at: 1,
    } as const;
    const held = { ...heldFor(undefined, decided, 'node/gpu-3/1', undefined), askAt: 1 };
    const state: NodeState = {
      ...firstState(node, 0),
      phase: 'reserving',
      view: nodeView(),
      held,
      release: ada,
      afterwards: [],
    };
    expect(mayRelease(state)).toBe(true);
    const dropped = nextState(table, state, { kind: 'noLongerWanted', decision: { ...decided, kind: 'observe' } });
    const again: NodeState = { ...dropped, phase: 'deciding', batch: { faults: [kernelFault()] } };
    const after = nextState(table, again, { kind: 'decided', decision: { ...decided, at: 2 }, at: 2 });
    expect([mayRelease(after), after.held?.incident]).toEqual([false, 'node/gpu-3/1970-01-01T00:00:00.002Z']);
  });

  it('judges a kernel line once that the agent and a log store report, in either order', () => {
    const byAgent = kernelFault({ kernelUs: 42 });
    const { kernel: _, ...rest } = byAgent;
    const shipped = { ...rest, id: 'kernel/loki/1', seenAt: '2026-11-21T07:20:00Z' };
    const another = { ...shipped, id: 'kernel/loki/2', kernelUs: 43 };
    const arrive = (state: NodeState, ...faults: Fault[]) =>
      nextState(table, state, { kind: 'faultsObserved', faults, dropped: 0 });
    const idsAfter = (...faults: Fault[]) => arrive(firstState(node, 0), ...faults).inbox.map(({ id }) => id);
    expect(idsAfter(byAgent, shipped, another)).toEqual([byAgent.id, another.id]);
    expect(idsAfter(shipped, byAgent, another)).toEqual([shipped.id, another.id]);
    const untrusted = { ...shipped, untrusted: true as const };
    expect(idsAfter(untrusted, byAgent)).toEqual([untrusted.id, byAgent.id]);
    expect(idsAfter(byAgent, untrusted)).toEqual([byAgent.id]);

    const first = arrive(firstState(node, 0), byAgent);
    const deciding: NodeState = { ...first, phase: 'deciding', inbox: [], batch: { faults: first.inbox } };
    expect(arrive(deciding, shipped)).toMatchObject({ inbox: [], dropped: 0 });
    expect(arrive({ ...first, inbox: [], faults: first.inbox }, shipped)).toMatchObject({ inbox: [], dropped: 0 });
  });

  it('keeps a bounded number of faults, and counts the others', () => {
    const many = Array.from({ length: 300 }, (_, sequence) =>
      kernelFault({ id: `kernel/boot-1/${sequence}`, kernel: { bootId: 'boot-1', sequence } }),
    );
    const state = nextState(table, firstState(node, 0), { kind: 'faultsObserved', faults: many, dropped: 1 });
    expect([state.inbox.length, state.dropped]).toEqual([200, 101]);
    const deciding: NodeState = { ...state, phase: 'deciding', inbox: [], batch: { faults: state.inbox } };
    const decision = {
      kind: 'record',
      because: '',
      faults: state.inbox,
      history: [],
      quietMs: 1,
      askAgainMs: 1,
      settings: 'x',
      at: 1,
    } as const;
    const after = nextState(table, deciding, { kind: 'decided', decision, at: 1 });
    expect([after.faults.length, after.judged?.sequence]).toEqual([50, 199]);
  });
});
