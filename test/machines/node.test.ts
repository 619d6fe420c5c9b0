import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Fault } from '../../contract/faults.ts';
import type { NodeQuarantine, NodeView } from '../../contract/nodes.ts';
import { decideNode } from '../../policy/node.ts';
import type { NodeEvent } from '../../workflows/node/events.ts';
import type { Message } from '../../workflows/node/messages.ts';
import { goesOn } from '../../workflows/node/release.ts';
import {
  deadlineOf,
  firstState,
  type HeldQuarantine,
  hasArrivals,
  heldFor,
  isOut,
  mayRelease,
  type NodeState,
  pendingWork,
} from '../../workflows/node/state.ts';
import { nodeTransitions } from '../../workflows/node/transitions.ts';
import { nextState, type Transition } from '../../workflows/state-machine.ts';
import { kernelFault, nodeView, settings } from '../support/builders.ts';
import { findViolation, type MachineProperty, withTransition } from '../support/machine-properties.ts';
import { violationsOfNode } from './node-invariants.ts';

const node = 'gpu-3';
const ada = { by: 'ada', reason: 'a test' };
const table = nodeTransitions;

const faults: readonly Fault[] = [
  kernelFault({ id: 'kernel/boot-1/1', kernel: { bootId: 'boot-1', sequence: 1 } }),
  kernelFault({ id: 'kernel/boot-1/2', kernel: { bootId: 'boot-1', sequence: 2 } }),
  kernelFault({ id: 'kernel/boot-1/3', code: 'xid/13', action: 'restart-app', kernel: { bootId: 'boot-1', sequence: 3 } }),
  { id: 'node/not-ready/1', source: 'node', code: 'node/not-ready', message: 'its kubelet is silent', seenAt: '2026-11-21T07:09:03Z', node },
  { id: 'preflight/1', source: 'preflight', code: 'preflight/slow-node', message: 'slow', seenAt: '2026-11-21T07:09:03Z', node, namespace: 'team-a' },
];

const modes = { act: settings({ mode: 'act' }), observe: settings() };

/** How the driver's surroundings answer; each part is used only in the phases that ask for it. */
interface Answer {
  readonly mode: keyof typeof modes;
  readonly machine: 'same' | 'same under another UID' | 'another' | 'none';
  readonly taint: 'as it should be' | 'ours' | 'of others' | 'none';
  readonly granted: boolean;
  readonly because: string;
  readonly written: boolean;
  readonly release: 'released' | 'not-ours' | 'failed' | 'gone';
  readonly waits: boolean;
}

const often = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 4 }, { arbitrary: fc.constantFrom(usual, ...others), weight: 1 });

const answers: fc.Arbitrary<Answer> = fc.record({
  mode: often<Answer['mode']>('act', 'observe'),
  machine: often<Answer['machine']>('same', 'same', 'same', 'same under another UID', 'another', 'none'),
  taint: often<Answer['taint']>('as it should be', 'ours', 'of others', 'none'),
  granted: often(true, false, false),
  because: fc.constantFrom('2 nodes are out and 2 may be', 'paused by bob: network work'),
  written: often(true, false),
  release: fc.constantFrom('released', 'failed', 'failed', 'not-ours', 'gone'),
  waits: fc.boolean(),
});

/** Nothing is granted: a release never waits for a reservation. */
const usual: Answer = { mode: 'act', machine: 'same', taint: 'as it should be', granted: false, because: '', written: true, release: 'released', waits: true };

function viewIn({ view: was, quarantine, held }: NodeState, { machine, taint }: Answer, at: number): NodeView | null {
  if (machine === 'none') return null;
  const before = was ?? nodeView();
  const same = machine === 'same' ? before : { ...before, uid: `uid-${at}`, ...(machine === 'another' && { systemUuid: `machine-${at}` }) };
  const { taint: _, ...bare } = same;
  const incident = quarantine?.incident ?? held?.incident ?? 'node/gpu-3/before';
  const isOurs = taint === 'ours' || (taint === 'as it should be' && quarantine?.taint === 'ours' && machine === 'same');
  if (isOurs) return { ...bare, taint: { value: 'xid-79', ours: true, incident } };
  return taint === 'of others' ? { ...bare, taint: { value: 'xid-79', ours: false } } : bare;
}

const decisionOf = (state: NodeState, arrived: readonly Fault[], mode: Answer['mode'], at: number) => {
  const request = state.phase === 'deciding' ? state.batch.request : undefined;
  const { view, judged } = state;
  const facts = { ...(view && { node: view }), faults: arrived, ...(judged && { judged }), ...(request && { askedBy: request }) };
  return { ...decideNode(facts, modes[mode]), settings: 'test', at };
};

/** What the driver dispatches next in the state. */
function driven(state: NodeState, answer: Answer, at: number): NodeEvent {
  if (state.outbox.length > 0) return { kind: 'sent' };
  switch (state.phase) {
    case 'observing':
      return { kind: 'observed', view: viewIn(state, answer, at), at };
    case 'deciding':
      return { kind: 'decided', decision: decisionOf(state, state.batch.faults, answer.mode, at), at };
    case 'reserving': {
      const decision = decisionOf(state, state.faults, answer.mode, at);
      if (state.held.reported !== undefined && state.held.by === 'kcover' && decision.kind !== 'quarantine') return { kind: 'noLongerWanted', decision };
      return answer.granted ? { kind: 'reserved', incident: state.held.incident } : { kind: 'refused', because: answer.because };
    }
    case 'quarantining':
      if (!answer.written) return { kind: 'quarantineNotWritten', because: answer.because };
      return { kind: 'quarantineWritten', taint: answer.taint === 'of others' ? 'other' : 'ours', at };
    case 'releasing':
      if (answer.release === 'gone') return { kind: 'releaseFoundNoNode' };
      if (answer.release === 'failed') return { kind: 'releaseFailed', because: answer.because, at };
      return { kind: 'released', removed: answer.release === 'released', ...(answer.release === 'not-ours' && { remainingTaint: 'it stays' }), at };
    case 'closing': {
      const view = viewIn(state, answer, at);
      const mustLook = state.outcome.outcome === 'gone' && !state.view && hasArrivals(state);
      if (mustLook) return { kind: 'successorObserved', view, arrivals: state.inbox.length };
      return answer.waits && goesOn(state, state.outcome) ? { kind: 'decisionBegun', at } : { kind: 'eventsWritten' };
    }
    default: {
      const kind = pendingWork(state);
      const deadline = deadlineOf(state);
      if (kind) return { kind, at };
      return deadline !== undefined && answer.waits ? { kind: 'deadlinePassed', deadline, at } : { kind: 'runContinued' };
    }
  }
}

/** What is dispatched whatever the phase. */
const arriving: fc.Arbitrary<(state: NodeState, at: number) => NodeEvent> = fc.oneof(
  fc.subarray([...faults]).map((some) => (): NodeEvent => ({ kind: 'faultsObserved', faults: some, dropped: 0 })),
  fc.constant((): NodeEvent => ({ kind: 'nodeObserved' })),
  fc.constant((): NodeEvent => ({ kind: 'recheckRequested' })),
  fc.constant((): NodeEvent => ({ kind: 'quarantineRequested', request: ada })),
  // The validator refuses others.
  fc.constant((state: NodeState): NodeEvent => (state.view && !isOut(state) ? { kind: 'nodeObserved' } : { kind: 'releaseRequested', request: ada })),
  fc.constant((state: NodeState): NodeEvent => ({ kind: isOut(state) ? 'releaseRequested' : 'quarantineRequested', request: ada })),
);

/** Answers that come twice, or in a phase that did not ask. */
const late: fc.Arbitrary<(state: NodeState, at: number) => NodeEvent> = fc
  .constantFrom<NodeState['phase']>('observing', 'deciding', 'reserving', 'quarantining', 'releasing', 'closing', 'watching', 'quarantined')
  .map((phase) => (state, at) => {
    if (phase === state.phase || phase === 'watching') return { kind: 'deadlinePassed', deadline: -1, at };
    // A timer that fires in the moment of an arrival.
    if (phase === 'quarantined') return { kind: 'deadlinePassed', deadline: deadlineOf(state) ?? -1, at };
    const held = { because: 'late', since: 0, incident: 'node/gpu-3/late', reason: 'late', by: 'kcover', askAt: 0 };
    const outcome = { node, outcome: 'quiet', because: 'late' } as const;
    return driven({ ...firstState(node, 0), view: nodeView(), held, batch: { faults: [] }, request: ada, outcome, afterwards: [], phase }, usual, at);
  });

/** A node that is released, or quiet, with answers as usual, comes to its end. */
function isStuck(machine: typeof table, from: NodeState): boolean {
  let state = from;
  for (let step = 0; step < 60 && state.phase !== 'ended'; step++) {
    const at = 1_000_000 + step;
    const isIdle = state.outbox.length === 0 && ['awaiting-reservation', 'quarantined'].includes(state.phase) && pendingWork(state) === undefined;
    const event: NodeEvent = isIdle && state.release === undefined ? { kind: 'releaseRequested', request: ada } : driven(state, usual, at);
    state = nextState(machine, state, event);
  }
  return state.phase !== 'ended';
}

const property = (violations: MachineProperty<NodeState, NodeEvent>['violations'] = violationsOfNode): MachineProperty<NodeState, NodeEvent> => ({
  first: () => firstState(node, 0),
  events: fc.array(
    fc.oneof(
      { arbitrary: answers.map((answer) => (state: NodeState, at: number) => driven(state, answer, at)), weight: 12 },
      { arbitrary: arriving, weight: 3 },
      { arbitrary: late, weight: 1 },
    ),
    { maxLength: 40, size: 'max' },
  ),
  violations,
});

type Change = (after: NodeState, before: NodeState, event: NodeEvent) => NodeState;

/** The table with a deliberate defect: what `change` makes of the state after one kind of event in one phase. */
function defect(phase: NodeState['phase'], kind: NodeEvent['kind'], change: Change, ...to: NodeState['phase'][]): typeof table {
  const original = (table[phase] as Readonly<Record<string, Transition<NodeState, NodeState, NodeEvent>>>)[kind];
  const next = (state: NodeState, event: NodeEvent) => change(original?.next(state, event) ?? state, state, event);
  return withTransition(table, phase, kind, { to: [...(original?.to ?? []), ...to], next });
}

const without = (state: NodeState, to: Message['to']): NodeState => ({ ...state, outbox: state.outbox.filter((message) => message.to !== to) });
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
const asBefore: Change = (_, before) => before;

const ends = (machine: typeof table) => property(({ after }) => (isStuck(machine, after) ? ['it never comes to its end'] : []));

const defects: readonly (readonly [name: string, found: RegExp, machine: typeof table])[] = [
  ['a quarantine that stays held', /quarantined and held/, defect('quarantining', 'quarantineWritten', (after, { held }) => ({ ...after, held }) as NodeState)],
  ['a refusal that ends the wait', /only watched/, defect('reserving', 'refused', (after) => ({ ...after, phase: 'watching' }), 'watching')],
  [
    'a reservation that counts as a quarantine',
    /not read back/,
    defect('reserving', 'reserved', (after) => ({ ...after, phase: 'quarantined', quarantine: quarantineOf(after), held: undefined }), 'quarantined'),
  ],
  [
    'a write before the reservation',
    /has no reservation/,
    defect('awaiting-reservation', 'reservationBegun', (after) => ({ ...after, phase: 'quarantining' }) as NodeState, 'quarantining'),
  ],
  ['a release without a record', /without a record of its end/, defect('releasing', 'released', (after) => without(after, 'records'))],
  ['a quarantine without a record', /began without a record/, defect('quarantining', 'quarantineWritten', (after) => without(after, 'records'))],
  [
    'a failed release that counts',
    /failed ended the quarantine/,
    defect('releasing', 'releaseFailed', (after) => ({ ...after, quarantine: undefined, held: undefined, phase: 'watching' }), 'watching'),
  ],
  [
    'a failed release that is reported as done',
    /not confirmed/,
    defect('releasing', 'releaseFailed', (after) => ({ ...after, phase: 'closing', outcome: { node, outcome: 'released', because: '' } }), 'closing'),
  ],
  ['a failed release that is not tried again', /not tried again/, defect('releasing', 'releaseFailed', (after) => ({ ...after, releaseAt: undefined }))],
  ['a release that stays without a quarantine', /later quarantine/, defect('observing', 'observed', (after, { release }) => ({ ...after, release }))],
  ['a release that keeps its reservation', /reservation was not returned/, defect('releasing', 'released', (after) => without(after, 'cluster'))],
  ['a machine that is gone and keeps its reservation', /reservation was not returned/, defect('observing', 'observed', (after) => without(after, 'cluster'))],
  [
    'a decision that begins without its faults',
    /was lost/,
    defect('watching', 'decisionBegun', (after) => ({ ...after, phase: 'deciding', batch: { faults: [] } })),
  ],
  ['a decision that takes faults that came meanwhile', /was lost/, defect('deciding', 'decided', (after) => ({ ...after, inbox: [] }))],
  ['faults that are not taken while it writes', /not taken/, defect('quarantining', 'faultsObserved', asBefore)],
  [
    'faults that are taken again',
    /taken twice/,
    defect('quarantined', 'faultsObserved', (after, before, event) => ('faults' in event ? { ...after, inbox: [...before.inbox, ...event.faults] } : after)),
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
  ['a decision whose faults are forgotten', /was forgotten/, defect('deciding', 'decided', (after, { faults }) => ({ ...after, faults }))],
  ['a change of the node that is forgotten', /not looked at/, defect('deciding', 'decided', (after) => ({ ...after, stale: false }))],
  ['a notification that is forgotten', /notification was forgotten/, defect('reserving', 'refused', (after) => ({ ...after, recheck: false }))],
  [
    'a failed write that is not looked at',
    /write that failed/,
    defect('quarantining', 'quarantineNotWritten', (after) => ({ ...after, phase: 'awaiting-reservation' }) as NodeState, 'awaiting-reservation'),
  ],
  ['a message that is skipped', /message was lost/, defect('quarantined', 'sent', (after) => ({ ...after, outbox: after.outbox.slice(1) }))],
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
    defect('reserving', 'reserved', (after) => ({ ...after, outbox: [...after.outbox, { to: 'jobs', state: 'quarantined', faults: [] }] })),
  ],
  [
    'a refusal that is reported again and again',
    /reported twice/,
    defect('reserving', 'refused', (after) => ({ ...after, held: after.held && omitReported(after.held) }) as NodeState),
  ],
  ['a refusal that no job learns', /not reported/, defect('reserving', 'refused', (after) => without(after, 'jobs'))],
  [
    'a timer of before',
    /another deadline/,
    defect('watching', 'deadlinePassed', (after, _, event) =>
      'deadline' in event && event.deadline === -1 ? { ...after, phase: 'closing', outcome: { node, outcome: 'quiet', because: '' } } : after,
    ),
  ],
  [
    'a timer that comes before what arrived',
    /before faults that wait/,
    defect('awaiting-reservation', 'deadlinePassed', (after, before, event) =>
      'deadline' in event && event.deadline !== -1 ? ({ ...before, phase: 'reserving', afterwards: [] } as unknown as NodeState) : after,
    ),
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
    defect('closing', 'eventsWritten', (after, before) => (before.phase === 'closing' ? { ...before, phase: 'ended' } : after)),
  ],
  ['a life after the end', /went on/, defect('ended', 'nodeObserved', (after) => ({ ...after, stale: true }))],
  [
    'a phase that the table does not name',
    /does not say/,
    defect('deciding', 'decided', (after) => ({ ...after, phase: 'closing', outcome: { node, outcome: 'quiet', because: '' } })),
  ],
];

describe('the machine of a node', () => {
  it('keeps its invariants in any order of events', () => {
    expect(findViolation(table, property())).toBeUndefined();
  });

  it.each(defects)('is found to break them with %s', (_name, found, machine) => {
    expect(findViolation(machine, property(), 20_000)).toMatch(found);
  });

  it('comes to its end from every state when it is released, or quiet, though nothing is granted', () => {
    expect(findViolation(table, ends(table), 300)).toBeUndefined();
    const unreleasable = defect('quarantined', 'releaseBegun', asBefore);
    expect(findViolation(unreleasable, ends(unreleasable), 300)).toMatch(/never comes to its end/);
  });

  it('does not apply a release to a later quarantine when its own is no longer wanted', () => {
    const decided = { kind: 'quarantine', because: 'xid/79', faults: [kernelFault()], quietMs: 1, askAgainMs: 1, settings: 'x', at: 1 } as const;
    const held = { ...heldFor(undefined, decided, 'node/gpu-3/1', undefined), askAt: 1 };
    const state: NodeState = { ...firstState(node, 0), phase: 'reserving', view: nodeView(), held, release: ada, afterwards: [] };
    expect(mayRelease(state)).toBe(true);
    const dropped = nextState(table, state, { kind: 'noLongerWanted', decision: { ...decided, kind: 'observe' } });
    const again: NodeState = { ...dropped, phase: 'deciding', batch: { faults: [kernelFault()] } };
    const after = nextState(table, again, { kind: 'decided', decision: { ...decided, at: 2 }, at: 2 });
    expect([mayRelease(after), after.held?.incident]).toEqual([false, 'node/gpu-3/1970-01-01T00:00:00.002Z']);
  });

  it('keeps a bounded number of faults, and counts the others', () => {
    const many = Array.from({ length: 300 }, (_, sequence) => kernelFault({ id: `kernel/boot-1/${sequence}`, kernel: { bootId: 'boot-1', sequence } }));
    const state = nextState(table, firstState(node, 0), { kind: 'faultsObserved', faults: many, dropped: 1 });
    expect([state.inbox.length, state.dropped]).toEqual([200, 101]);
    const deciding: NodeState = { ...state, phase: 'deciding', inbox: [], batch: { faults: state.inbox } };
    const decision = { kind: 'record', because: '', faults: state.inbox, quietMs: 1, askAgainMs: 1, settings: 'x', at: 1 } as const;
    const after = nextState(table, deciding, { kind: 'decided', decision, at: 1 });
    expect([after.faults.length, after.judged?.sequence]).toEqual([50, 199]);
  });
});
