/** Random events for a node's machine: those that its driver would dispatch, those that arrive at any time, and late ones. */

import * as fc from 'fast-check';
import type { Fault } from '../../contract/faults/faults.ts';
import type { NodeView } from '../../contract/node/nodes.ts';
import { decideNode } from '../../policy/node/node.ts';
import type { NodeEvent } from '../../workflows/node/events.ts';
import { goesOn } from '../../workflows/node/release.ts';
import { deadlineOf, firstState, hasArrivals, isOut, type NodeState, pendingWork } from '../../workflows/node/state.ts';
import { kernelFault, nodeView, settings } from '../support/builders.ts';
import type { MachineProperty } from '../support/machine-properties.ts';
import { violationsOfNode } from './node-invariants.ts';

export const node = 'gpu-3';
export const ada = { by: 'ada', reason: 'a test' };

const faults: readonly Fault[] = [
  kernelFault({ id: 'kernel/boot-1/1', kernel: { bootId: 'boot-1', sequence: 1 } }),
  kernelFault({ id: 'kernel/boot-1/2', kernel: { bootId: 'boot-1', sequence: 2 } }),
  kernelFault({
    id: 'kernel/boot-1/3',
    code: 'xid/13',
    action: 'restart-app',
    kernel: { bootId: 'boot-1', sequence: 3 },
  }),
  kernelFault({
    id: 'kernel/boot-1/4',
    code: 'xid/999',
    action: 'contact-support',
    standing: 'unknown',
    kernel: { bootId: 'boot-1', sequence: 4 },
  }),
  kernelFault({
    id: 'kernel/boot-1/5',
    code: 'xid/154',
    action: 'restart-app',
    kernel: { bootId: 'boot-1', sequence: 5 },
  }),
  {
    id: 'node/not-ready/1',
    source: 'node',
    code: 'node/not-ready',
    message: 'its kubelet is silent',
    seenAt: '2026-11-21T07:09:03Z',
    node,
  },
  {
    id: 'preflight/1',
    source: 'preflight',
    code: 'preflight/slow-node',
    message: 'slow',
    seenAt: '2026-11-21T07:09:03Z',
    node,
    namespace: 'team-a',
  },
];

const hooks = { reset: { kind: 'command', command: ['/bin/true'] } };
const remediation = { mode: 'run', hooks, ladders: [{ name: 'gpu', codes: ['xid/79'], rungs: [{ hook: 'reset' }] }] };
const modes = { act: settings({ mode: 'act', remediation }), observe: settings({ remediation }) };

const phases = ['waiting', 'remediating', 'probation'] as const;
const outcomes = ['cured', 'exhausted', 'cancelled'] as const;

/** What the repair of the present quarantine may report, or one of another quarantine. */
const progressing = fc
  .record({
    phase: fc.constantFrom(...phases, 'ended' as const),
    outcome: fc.constantFrom(...outcomes),
    release: fc.constantFrom('verified' as const, 'person' as const),
    isOther: fc.boolean(),
    count: fc.integer({ min: 0, max: 2 }),
  })
  .map(({ phase, outcome, release, isOther, count }) => (state: NodeState, at: number): NodeEvent => ({
    kind: 'remedyProgressed',
    progress: {
      incident: (isOther ? undefined : state.quarantine?.incident) ?? 'node/gpu-3/other',
      phase,
      because: 'a test',
      at: new Date(at).toISOString(),
      remediations: Array.from({ length: count }, (_, index) => ({
        rung: 'reset',
        attempt: index + 1,
        operation: `r1-a${index + 1}`,
        begunAt: '',
        endedAt: '',
        outcome: 'failed' as const,
        because: 'a test',
      })),
      ...(phase === 'ended' && { outcome, ...(outcome === 'cured' && { release }) }),
    },
  }));

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
export const usual: Answer = {
  mode: 'act',
  machine: 'same',
  taint: 'as it should be',
  granted: false,
  because: '',
  written: true,
  release: 'released',
  waits: true,
};

function viewIn({ view: was, quarantine, held }: NodeState, { machine, taint }: Answer, at: number): NodeView | null {
  if (machine === 'none') return null;
  const before = was ?? nodeView();
  const same =
    machine === 'same'
      ? before
      : { ...before, uid: `uid-${at}`, ...(machine === 'another' && { systemUuid: `machine-${at}` }) };
  const { taint: _, ...bare } = same;
  const incident = quarantine?.incident ?? held?.incident ?? 'node/gpu-3/before';
  const isOurs =
    taint === 'ours' || (taint === 'as it should be' && quarantine?.taint === 'ours' && machine === 'same');
  if (isOurs) return { ...bare, taint: { value: 'xid-79', ours: true, incident } };
  return taint === 'of others' ? { ...bare, taint: { value: 'xid-79', ours: false } } : bare;
}

const decisionOf = (state: NodeState, arrived: readonly Fault[], mode: Answer['mode'], at: number) => {
  const request = state.phase === 'deciding' ? state.batch.request : undefined;
  const { view, judged, history } = state;
  const facts = {
    history,
    now: at,
    ...(view && { node: view }),
    faults: arrived,
    ...(judged && { judged }),
    ...(request && { askedBy: request }),
    ...(state.phase === 'reserving' && { again: true as const }),
  };
  return { ...decideNode(facts, modes[mode]), settings: 'test', at };
};

/** What the driver dispatches next in the state. */
export function driven(state: NodeState, answer: Answer, at: number): NodeEvent {
  if (state.outbox.length > 0) return { kind: 'sent' };
  switch (state.phase) {
    case 'observing':
      return { kind: 'observed', view: viewIn(state, answer, at), at };
    case 'deciding':
      return { kind: 'decided', decision: decisionOf(state, state.batch.faults, answer.mode, at), at };
    case 'reserving': {
      const decision = decisionOf(state, state.faults, answer.mode, at);
      if (state.held.reported !== undefined && state.held.by === 'kcover' && decision.kind !== 'quarantine')
        return { kind: 'noLongerWanted', decision };
      return answer.granted
        ? { kind: 'reserved', incident: state.held.incident }
        : { kind: 'refused', because: answer.because };
    }
    case 'quarantining':
      if (!answer.written) return { kind: 'quarantineNotWritten', because: answer.because };
      return { kind: 'quarantineWritten', taint: answer.taint === 'of others' ? 'other' : 'ours', at };
    case 'releasing':
      if (answer.release === 'gone') return { kind: 'releaseFoundNoNode' };
      if (answer.release === 'failed') return { kind: 'releaseFailed', because: answer.because, at };
      return {
        kind: 'released',
        removed: answer.release === 'released',
        ...(answer.release === 'not-ours' && { remainingTaint: 'it stays' }),
        at,
      };
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
      return deadline !== undefined && answer.waits
        ? { kind: 'deadlinePassed', deadline, at }
        : { kind: 'runContinued' };
    }
  }
}

/** What is dispatched whatever the phase. */
const arriving: fc.Arbitrary<(state: NodeState, at: number) => NodeEvent> = fc.oneof(
  fc.subarray([...faults]).map((some) => (): NodeEvent => ({ kind: 'faultsObserved', faults: some, dropped: 0 })),
  fc.constant((): NodeEvent => ({ kind: 'nodeObserved' })),
  fc.constant((): NodeEvent => ({ kind: 'recheckRequested' })),
  progressing,
  progressing,
  fc.constant((): NodeEvent => ({ kind: 'quarantineRequested', request: ada })),
  // The validator refuses others.
  fc.constant((state: NodeState): NodeEvent =>
    state.view && !isOut(state) ? { kind: 'nodeObserved' } : { kind: 'releaseRequested', request: ada },
  ),
  fc.constant((state: NodeState): NodeEvent => ({
    kind: isOut(state) ? 'releaseRequested' : 'quarantineRequested',
    request: ada,
  })),
);

/** Answers that come twice, or in a phase that did not ask. */
const late: fc.Arbitrary<(state: NodeState, at: number) => NodeEvent> = fc
  .constantFrom<NodeState['phase']>(
    'observing',
    'deciding',
    'reserving',
    'quarantining',
    'releasing',
    'closing',
    'watching',
    'quarantined',
  )
  .map((phase) => (state, at) => {
    if (phase === state.phase || phase === 'watching') return { kind: 'deadlinePassed', deadline: -1, at };
    // A timer that fires in the moment of an arrival.
    if (phase === 'quarantined') return { kind: 'deadlinePassed', deadline: deadlineOf(state) ?? -1, at };
    const held = { because: 'late', since: 0, incident: 'node/gpu-3/late', reason: 'late', by: 'kcover', askAt: 0 };
    const outcome = { node, outcome: 'quiet', because: 'late' } as const;
    return driven(
      {
        ...firstState(node, 0),
        view: nodeView(),
        held,
        batch: { faults: [] },
        request: ada,
        outcome,
        afterwards: [],
        phase,
      },
      usual,
      at,
    );
  });

export const property = (
  violations: MachineProperty<NodeState, NodeEvent>['violations'] = violationsOfNode,
): MachineProperty<NodeState, NodeEvent> => ({
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
