import { describe, expect, it } from '@jest/globals';
import type { RemedyEvent } from '../../workflows/remedy/events.ts';
import { firstState, type RemedyState } from '../../workflows/remedy/state.ts';
import { remedyTransitions } from '../../workflows/remedy/transitions.ts';
import { nextState, type Transition } from '../../workflows/state-machine.ts';
import { findDefect, findViolation, withTransition } from '../support/machine-properties.ts';
import { type Answer, driven, input, property, timeAt, usual } from './remedy-driver.ts';

const table = remedyTransitions;

type Change = (after: RemedyState, before: RemedyState, event: RemedyEvent) => RemedyState;

/** The table with a deliberate defect: what `change` makes of the state after one kind of event in one phase. */
function defect(
  phase: RemedyState['phase'],
  kind: RemedyEvent['kind'],
  change: Change,
  ...to: RemedyState['phase'][]
): typeof table {
  const original = (table[phase] as Readonly<Record<string, Transition<RemedyState, RemedyState, RemedyEvent>>>)[kind];
  const next = (state: RemedyState, event: RemedyEvent) => change(original?.next(state, event) ?? state, state, event);
  return withTransition(table, phase, kind, { to: [...(original?.to ?? []), ...to], next });
}

const asBefore: Change = (_, before) => before;

const defects: readonly (readonly [name: string, found: RegExp, machine: typeof table])[] = [
  [
    'a run that keeps its name',
    /twice under one name/,
    defect(
      'asking',
      'permitAnswered',
      (after) =>
        ({
          ...after,
          runs: 0,
          attempt: after.attempt && { ...after.attempt, number: 1, operation: 'same' },
        }) as RemedyState,
    ),
  ],
  [
    'a hook before the look',
    /without a look/,
    defect('asking', 'permitAnswered', (after) => ('step' in after ? { ...after, step: 'running' } : after)),
  ],
  [
    'a look that is not compared',
    /on another machine/,
    defect('remediating', 'machineObserved', (after, before) =>
      after.phase === 'ended' ? ({ ...before, step: 'running' } as RemedyState) : after,
    ),
  ],
  [
    'a rung that is repeated at once',
    /without a permission|without asking|does not say/,
    defect('remediating', 'hookEnded', (after, before) =>
      after.phase === 'asking'
        ? ({ ...before, step: 'looking', attempt: { ...before.attempt, operation: 'other' } } as RemedyState)
        : after,
    ),
  ],
  [
    'a refusal that counts as a permission',
    /without a permission/,
    defect('asking', 'permitAnswered', (after, before, event) =>
      after.phase === 'waiting' && event.kind === 'permitAnswered'
        ? (table.asking.permitAnswered?.next(before as never, { ...event, permit: { kind: 'granted' } }) ?? after)
        : after,
    ),
  ],
  [
    'a release that is overlooked while a hook runs',
    /cancelled remedy goes on/,
    defect('remediating', 'cancelRequested', asBefore),
  ],
  [
    'an end that is none',
    /went on after its end/,
    {
      ...table,
      ended: {
        ...table.ended,
        cancelRequested: { to: ['asking'], next: (state) => ({ ...state, phase: 'asking' }) },
      },
    },
  ],
  [
    'a wait without a deadline',
    /no deadline/,
    defect('asking', 'permitAnswered', (after) =>
      after.phase === 'draining' ? ({ ...after, until: undefined } as unknown as RemedyState) : after,
    ),
  ],
  ['a wait that never ends', /asks nothing/, defect('waiting', 'waitEnded', asBefore)],
  ['a timer of before', /another deadline/, defect('waiting', 'waitEnded', (after) => ({ ...after, phase: 'asking' }))],
  ['a notification that is dropped', /notification was forgotten/, defect('asking', 'recheckRequested', asBefore)],
  [
    'busy answers without a bound',
    /delay is not counted/,
    defect('remediating', 'hookEnded', (after) => ({ ...after, delays: 0 })),
  ],
  [
    'an attempt that is not recorded',
    /without a record/,
    defect('remediating', 'hookEnded', (after, { remediations }) => ({ ...after, remediations })),
  ],
  [
    'an unknown result that is tried again',
    /no one knows the result/,
    defect('remediating', 'hookEnded', (after, { rung }, event) =>
      event.kind === 'hookEnded' && event.result.verdict === 'unknown' && after.phase === 'asking'
        ? { ...after, rung }
        : after,
    ),
  ],
  [
    'a rung that is tried for ever',
    /more attempts/,
    defect('remediating', 'hookEnded', (after, { rung, failures }) =>
      after.rung > rung ? { ...after, rung, failures: failures + 1, phase: 'asking' } : after,
    ),
  ],
  [
    'a proof that was not observed',
    /without a proof/,
    defect('remediating', 'machineObserved', (after) =>
      after.phase === 'remediating' ? { ...after, attempt: { ...after.attempt, provenAt: 1 } } : after,
    ),
  ],
  [
    'a test that is skipped',
    /without its test/,
    defect('remediating', 'proofEnded', (after) =>
      after.phase === 'asking' && after.attempt
        ? { ...after, phase: 'probation', until: 1, attempt: after.attempt }
        : after,
    ),
  ],
  [
    'a test that did not run and counts as passed',
    /without its test/,
    defect('verifying', 'hookEnded', (after, before, event) =>
      event.kind === 'hookEnded' && event.result.verdict === 'unknown' && before.attempt
        ? { ...before, phase: 'probation', until: 1, attempt: before.attempt }
        : after,
    ),
  ],
  [
    'a cure without a look at the node',
    /before its probation is over/,
    defect('probation', 'probationEnded', (after, before, event) =>
      event.kind === 'probationEnded' && event.view?.ready === false
        ? (table.probation.probationEnded?.next(before as never, { ...event, view: { ...event.view, ready: true } }) ??
          after)
        : after,
    ),
  ],
  [
    'a fault in probation that is overlooked',
    /after the proof changes nothing/,
    defect('probation', 'faultsObserved', (after, before) =>
      after.phase === 'probation' ? after : { ...before, faults: after.faults },
    ),
  ],
  [
    'a relapse that repeats its rung',
    /after the proof changes nothing/,
    defect('probation', 'faultsObserved', (after, { rung }) => (after.phase === 'asking' ? { ...after, rung } : after)),
  ],
  [
    'a fault that counts while the hook runs',
    /may follow from the hook/,
    defect('remediating', 'faultsObserved', (after) => ({ ...after, phase: 'asking', attempt: undefined }), 'asking'),
  ],
  ['a fault that is dropped', /not remembered/, defect('waiting', 'faultsObserved', asBefore)],
  [
    'a machine that is never retired',
    /fails too often/,
    defect('remembering', 'recalled', (after) =>
      after.phase === 'ended' ? ({ ...after, phase: 'asking' } as unknown as RemedyState) : after,
    ),
  ],
  [
    'a permission that is kept',
    /not returned/,
    defect('remediating', 'cancelRequested', (after) => ({
      ...after,
      outbox: after.outbox.filter(({ to }) => to !== 'cluster'),
    })),
  ],
  [
    'an end that is not reported',
    /no one is asked/,
    defect('remembering', 'recalled', (after) => ({
      ...after,
      outbox: after.outbox.filter(({ to }) => to !== 'people'),
    })),
  ],
  [
    'a message that is skipped',
    /without a look|not returned|no one is asked|does not say/,
    defect('remediating', 'hookEnded', (after) => (after.phase === 'ended' ? { ...after, outbox: [] } : after)),
  ],
  [
    'a phase that the table does not name',
    /does not say/,
    defect('draining', 'drainEnded', (after, before) =>
      after.phase === 'asking' ? ({ ...before, phase: 'probation', until: 1 } as unknown as RemedyState) : after,
    ),
  ],
];

/** The states that follow each other with these answers, until the end. */
function play(answer: (state: RemedyState, step: number) => Partial<Answer>, from = firstState(input())): RemedyState {
  let state: RemedyState = from;
  for (let step = 0; step < 300 && (state.phase !== 'ended' || state.outbox.length > 0); step++)
    state = nextState(table, state, driven(state, { ...usual, ...answer(state, step) }, step));
  return state;
}
const outcomes = ({ remediations }: RemedyState): string[] => remediations.map((one) => `${one.rung} ${one.outcome}`);
const outcomeOf = (state: RemedyState): string => (state.phase === 'ended' ? state.outcome.outcome : state.phase);

describe('the machine of a remedy', () => {
  it('keeps its invariants in any order of events', () => {
    expect(findViolation(table, property())).toBeUndefined();
  });

  it.each(defects)('is found to break them with %s', (_name, found, machine) => {
    expect(findDefect(machine, property(), found)).toMatch(found);
  });

  it('comes to its end from every state', () => {
    const ends = property(({ after }) =>
      outcomeOf(play(() => ({}), after)) === after.phase && after.phase !== 'ended'
        ? ['it never comes to its end']
        : [],
    );
    expect(findViolation(table, ends, 300)).toBeUndefined();
  });

  it('goes from a rung that fails to the next one, which cures', () => {
    const state = play(({ rung }) => (rung === 0 ? { verdict: 'failed' } : {}));
    expect(outcomes(state)).toEqual(['reset failed', 'reset failed', 'reboot cured']);
    expect(state).toMatchObject({ phase: 'ended', outcome: { outcome: 'cured' } });
  });

  it.each([
    [
      'a hook that fails, as often as the rung may be tried',
      { verdict: 'failed' },
      'reset failed,reset failed,reboot failed,power failed,power failed,power failed',
    ],
    // The proof of `reboot` does not need the answer of its hook.
    [
      'a hook of which no one knows the result, once',
      { verdict: 'unknown' },
      'reset unknown,reboot not-verified,power unknown',
    ],
    [
      'a node on which somebody else works, a bounded number of times',
      { verdict: 'busy' },
      'reset busy,reset busy,reset busy,reset busy,reset busy,reset busy',
    ],
  ] as const)('knows what to do with %s', (_name, answer, expected) => {
    expect(outcomes(play(() => answer)).join()).toBe(expected);
  });

  it('tries a rung whose proof does not come as often as it may, and then the next', () => {
    const state = play(({ rung }) => ({ proof: 'not-proven', verdict: rung === 0 ? 'failed' : 'passed' }));
    expect(outcomes(state).slice(2).join()).toBe(
      'reboot not-proven,power not-proven,power not-proven,power not-proven',
    );
  });

  it('never counts a verification that is busy as a pass, and keeps what is proven while it waits', () => {
    const busy = play(({ phase, rung }) =>
      phase === 'verifying' ? { verdict: 'busy' } : rung === 0 ? { verdict: 'failed' } : {},
    );
    expect(outcomes(busy)).toEqual(['reset failed', 'reset failed', 'reboot not-verified']);
    expect(outcomeOf(busy)).toBe('exhausted');
    let left = 2;
    const passed = play(({ phase, rung, ...state }) => {
      if (phase === 'verifying' && 'step' in state && state.step === 'running' && left-- > 0)
        return { verdict: 'busy' };
      return rung === 0 ? { verdict: 'failed' } : {};
    });
    expect(outcomes(passed)).toEqual(['reset failed', 'reset failed', 'reboot cured']);
  });

  it('takes a kernel line of the new boot for a relapse, although it came before the proof', () => {
    let state = firstState(input());
    for (let step = 0; !(state.phase === 'remediating' && state.rung === 1 && state.step === 'proving'); step++)
      state = nextState(
        table,
        state,
        driven(state, { ...usual, verdict: state.rung === 0 ? 'failed' : 'passed' }, step),
      );
    const line = {
      ...input().faults[0],
      id: 'kernel/boot-2/1',
      kernel: { bootId: 'boot-2', sequence: 1 },
      seenAt: new Date(timeAt(200)).toISOString(),
    };
    const seen = nextState(table, state, {
      kind: 'faultsObserved',
      faults: [line] as never,
      dropped: 0,
      at: timeAt(200),
    });
    expect(seen).toMatchObject({ phase: 'remediating' });
    expect(outcomes(nextState(table, seen, driven(seen, usual, 201))).at(-1)).toBe('reboot relapsed');
  });

  it('gives runs of nodes with similar names and the same time different names, all of which are labels', () => {
    const operations = ['ip-10-0-0-1.eu-west-1.compute.internal', 'ip-10-0-0-1.eu-west-2.compute.internal'].map(
      (node) => {
        const state = play(
          () => ({}),
          firstState({ ...input(), node, incident: `node/${node}/2026-11-21T07:09:03.117Z` }),
        );
        return state.remediations[0]?.operation ?? '';
      },
    );
    expect(new Set(operations).size).toBe(2);
    for (const operation of operations) expect(operation).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?$/);
  });

  it('retires a machine at its third incident, and says that a person must act', () => {
    const state = play(() => ({ earlier: 2 }));
    expect(state).toMatchObject({ phase: 'ended', outcome: { outcome: 'retired', remediations: [] } });
  });
});
