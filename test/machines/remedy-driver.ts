/** Random events for the machine of a remedy: those that its driver would dispatch, those that arrive at any time, and late ones. */

import * as fc from 'fast-check';
import type { Fault } from '../../contract/faults/faults.ts';
import type {
  DrainResult,
  HookResult,
  Ladder,
  MachineView,
  ProofResult,
  RemedyInput,
  RemedyPermit,
} from '../../contract/remedy/remedy.ts';
import type { RemedyEvent } from '../../workflows/remedy/events.ts';
import { firstState, type RemedyState } from '../../workflows/remedy/state.ts';
import { verificationOf } from '../../workflows/remedy/transitions.ts';
import { kernelFault } from '../support/builders.ts';
import type { MachineProperty } from '../support/machine-properties.ts';
import { violationsOfRemedy } from './remedy-invariants.ts';

const node = 'gpu-3';

export const ladder: Ladder = {
  name: 'gpu',
  because: 'ladder gpu is for xid/79',
  rungs: [
    { hook: 'reset', attempts: 2, timeoutMs: 60_000, proof: ['result'] },
    { hook: 'reboot', attempts: 1, timeoutMs: 60_000, proof: ['rebooted', 'ready'], verify: 'diag' },
    { hook: 'power', attempts: 3, timeoutMs: 60_000, proof: ['rebooted', 'result'], verify: 'diag' },
  ],
  probationMs: 1000,
  release: 'verified',
  retireAt: 3,
  memoryMs: 1,
  drainMs: 1000,
};

export const input = (more: Partial<Ladder> = {}): RemedyInput => ({
  node,
  uid: 'node-3',
  systemUuid: 'machine-3',
  incident: 'node/gpu-3/2026-11-21T07:09:03.117Z',
  ladder: { ...ladder, ...more },
  faults: [kernelFault()],
});

export const machine: MachineView = {
  uid: 'node-3',
  systemUuid: 'machine-3',
  bootId: 'boot-1',
  ready: true,
  accelerators: { 'nvidia.com/gpu': 8 },
};

/** How the surroundings answer; each part is used only in the phases that ask for it. */
export interface Answer {
  readonly earlier: number;
  readonly permit: RemedyPermit['kind'];
  readonly drain: DrainResult['outcome'];
  readonly view: MachineView | null;
  readonly verdict: HookResult['verdict'];
  readonly proof: ProofResult['outcome'];
  readonly waits: boolean;
}

export const usual: Answer = {
  earlier: 0,
  permit: 'granted',
  drain: 'drained',
  view: machine,
  verdict: 'passed',
  proof: 'proven',
  waits: true,
};

const often = <T>(usually: T, ...others: readonly T[]) =>
  fc.oneof(
    { arbitrary: fc.constant(usually), weight: 4 },
    { arbitrary: fc.constantFrom(usually, ...others), weight: 2 },
  );

const answers: fc.Arbitrary<Answer> = fc.record({
  earlier: often(0, 1, 2),
  permit: often<Answer['permit']>('granted', 'granted', 'refused', 'refused', 'over'),
  drain: often<Answer['drain']>('drained', 'blocked', 'blocked', 'gone'),
  view: fc.oneof(
    { arbitrary: fc.constant(machine), weight: 12 },
    {
      arbitrary: fc.constantFrom(
        null,
        { ...machine, uid: 'other' },
        { ...machine, uid: 'other', systemUuid: 'other' },
        { ...machine, ready: false },
      ),
      weight: 1,
    },
  ),
  verdict: fc.constantFrom('passed', 'passed', 'passed', 'failed', 'busy', 'unknown'),
  proof: often<Answer['proof']>('proven', 'not-proven', 'not-proven', 'gone'),
  waits: fc.boolean(),
});

/** Milliseconds of a step. */
export const timeAt = (step: number): number => Date.parse('2026-11-21T08:00:00Z') + step * 10_000;

/** What the driver dispatches next in the state. */
export function driven(state: RemedyState, answer: Answer, step: number): RemedyEvent {
  const at = timeAt(step);
  const because = 'the answer';
  if (state.outbox.length > 0) return { kind: 'sent' };
  switch (state.phase) {
    case 'remembering':
      return {
        kind: 'recalled',
        recalled: { incidents: Array.from({ length: answer.earlier + 1 }, (_, index) => `node/gpu-3/${index}`) },
      };
    case 'asking':
      return {
        kind: 'permitAnswered',
        permit: answer.permit === 'granted' ? { kind: 'granted' } : { kind: answer.permit, because, askAgainMs: 1000 },
        at,
      };
    case 'waiting':
      return { kind: 'waitEnded', ...(answer.waits && { deadline: state.askAt }) };
    case 'draining':
      return { kind: 'drainEnded', result: { outcome: answer.drain, because, evicted: 0, remaining: [] }, at };
    case 'remediating':
    case 'verifying':
      if (state.step === 'looking') return { kind: 'machineObserved', view: answer.view, at };
      if (state.step === 'proving')
        return {
          kind: 'proofEnded',
          operation: state.attempt.operation,
          result: { outcome: answer.proof, because },
          at,
        };
      return {
        kind: 'hookEnded',
        operation: state.phase === 'verifying' ? verificationOf(state) : state.attempt.operation,
        result: { verdict: answer.verdict, because },
        at,
      };
    case 'probation':
      return { kind: 'probationEnded', view: answer.view, at };
    case 'ended':
      return { kind: 'sent' };
  }
}

/** Faults of a step: a hardware fault of the moment, and an older one. */
const faultOf = (id: string, seenAt: number, bootId: string): Fault =>
  kernelFault({ id, seenAt: new Date(seenAt).toISOString(), kernel: { bootId, sequence: 1 } });

const arriving: fc.Arbitrary<(state: RemedyState, step: number) => RemedyEvent> = fc.oneof(
  fc
    .record({ age: fc.constantFrom(0, 0, 500_000), bootId: fc.constantFrom('boot-1', 'boot-2') })
    .map(({ age, bootId }) => (_state: RemedyState, step: number): RemedyEvent => ({
      kind: 'faultsObserved',
      faults: [faultOf(`kernel/${bootId}/${step}`, timeAt(step) - age, bootId)],
      dropped: 0,
      at: timeAt(step),
    })),
  // A fault that is known is reported once more.
  fc.constant((state: RemedyState, step: number): RemedyEvent => ({
    kind: 'faultsObserved',
    faults: state.faults.slice(0, 1),
    dropped: 0,
    at: timeAt(step),
  })),
  fc.constant((): RemedyEvent => ({ kind: 'recheckRequested' })),
  fc.constant((): RemedyEvent => ({ kind: 'recheckRequested' })),
  fc.constant((_state: RemedyState, step: number): RemedyEvent => ({
    kind: 'cancelRequested',
    because: 'released by ada: a test',
    at: timeAt(step),
  })),
);

/** Answers that belong to another run, or to a phase that did not ask. */
const late: fc.Arbitrary<(state: RemedyState, step: number) => RemedyEvent> = fc.constantFrom<
  (state: RemedyState, step: number) => RemedyEvent
>(
  (_state, step) => ({
    kind: 'hookEnded',
    operation: 'late',
    result: { verdict: 'passed', because: 'late' },
    at: timeAt(step),
  }),
  (_state, step) => ({
    kind: 'proofEnded',
    operation: 'late',
    result: { outcome: 'proven', because: 'late' },
    at: timeAt(step),
  }),
  () => ({ kind: 'waitEnded', deadline: -1 }),
  (state, step) =>
    state.phase === 'asking' ? { kind: 'sent' } : driven({ ...state, ...asked, outbox: [] }, usual, step),
);
const asked = { phase: 'asking' } as const;

export const property = (
  violations: MachineProperty<RemedyState, RemedyEvent>['violations'] = violationsOfRemedy,
  more: Partial<Ladder> = {},
): MachineProperty<RemedyState, RemedyEvent> => ({
  first: () => firstState(input(more)),
  events: fc.array(
    fc.oneof(
      {
        arbitrary: answers.map((answer) => (state: RemedyState, step: number) => driven(state, answer, step)),
        weight: 24,
      },
      { arbitrary: arriving, weight: 2 },
      { arbitrary: late, weight: 1 },
    ),
    { maxLength: 60, size: 'max' },
  ),
  violations,
});
