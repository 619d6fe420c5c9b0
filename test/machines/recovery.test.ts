import { describe, expect, it } from '@jest/globals';
import type { RecoveryEvent } from '../../workflows/recovery/events.ts';
import { noQuestions } from '../../workflows/recovery/questions.ts';
import type { Phase, RecoveryState } from '../../workflows/recovery/state.ts';
import { recoveryTransitions } from '../../workflows/recovery/transitions.ts';
import type { Transition, Transitions } from '../../workflows/state-machine.ts';
import { findViolation, withTransition } from '../support/machine-properties.ts';
import { firstRecovery, firstStop, interference, lostPods } from '../support/recovery-events.ts';
import { recoveryProperty } from '../support/recovery-invariants.ts';

type Table = Transitions<RecoveryState, RecoveryEvent>;
type Next = (state: RecoveryState, event: RecoveryEvent) => RecoveryState;
type Entry = Transition<RecoveryState, RecoveryState, RecoveryEvent>;

const table = recoveryTransitions;

/** From a stop that was sent, in which most can go wrong. */
const violationIn = (mutant: Table, only: RegExp): string | undefined =>
  findViolation(mutant, recoveryProperty(mutant, firstStop, lostPods), 50, only) ??
  findViolation(mutant, recoveryProperty(mutant, firstRecovery, interference), 50, only) ??
  findViolation(mutant, recoveryProperty(mutant, firstStop), 2500, only);

/** The table with one entry changed; `next` is given what the entry really does. */
function defect(phase: Phase, kind: RecoveryEvent['kind'], change: (real: Next) => Next, to?: readonly Phase[]): Table {
  const entry = (table[phase] as Readonly<Record<string, Entry | undefined>>)[kind];
  const real: Entry = entry ?? { to: [], next: (state) => state };
  return withTransition(table as never, phase, kind, {
    to: to ?? real.to,
    next: change(real.next),
  } as never) as unknown as Table;
}

/** An answer that counts in any phase, however late it comes. */
const late =
  (real: Next): Next =>
  (state, event) =>
    real(state, { ...event, turn: state.turn } as RecoveryEvent);

const ignored = (): Next => (state) => state;

describe('the machine of a recovery', () => {
  it('keeps its invariants in any order of events', () => {
    expect(findViolation(table, recoveryProperty(table), 600)).toBeUndefined();
    expect(findViolation(table, recoveryProperty(table, firstStop), 600)).toBeUndefined();
    expect(findViolation(table, recoveryProperty(table, firstStop, lostPods), 50)).toBeUndefined();
    expect(findViolation(table, recoveryProperty(table, firstRecovery, interference), 50)).toBeUndefined();
  });

  it.each<[string, Table, RegExp]>([
    [
      'a stop that is sent again after its deadline',
      defect('stopping', 'stopAnswered', (real) => (state, event) => {
        if (event.kind !== 'stopAnswered' || event.result.kind !== 'timed-out') return real(state, event);
        return {
          ...real(state, { ...event, result: { kind: 'interfered', because: 'x' } }),
          stopsStarted: state.stopsStarted,
        };
      }),
      /attempt \d is stopped twice/,
    ],
    [
      'an answer that begins a stop twice',
      defect(
        'stopping',
        'stopStarted',
        (real) => (state, event) => real({ ...state, stop: undefined } as never, event),
      ),
      /stopped twice/,
    ],
    ['a late decision that counts', defect('deciding', 'decided', late), /pods of another attempt|a held recovery/],
    [
      'a late answer to a stop that counts',
      defect('stopping', 'stopAnswered', late),
      /answered that was not asked|stopped twice|another attempt/,
    ],
    [
      'facts of another attempt',
      defect(
        'stopping',
        'stopStarted',
        (real) => (state, event) =>
          real(
            state,
            event.kind === 'stopStarted'
              ? { ...event, facts: { ...event.facts, pods: [{ name: 'a9-0', uid: 'a9-0' }] } }
              : event,
          ),
      ),
      /pods of another attempt/,
    ],
    [
      'an interruption that forgets a stop that was begun',
      defect(
        'stopping',
        'interrupted',
        (real) => (state, event) => real({ ...state, stopsStarted: 0, forcing: [] }, event),
      ),
      /not accounted for/,
    ],
    [
      'an end that forgets what was deleted by force',
      defect('stopping', 'interrupted', (real) => (state, event) => real({ ...state, forcing: [] }, event)),
      /deleted by force is forgotten/,
    ],
    [
      'a stop that did nothing and counts',
      defect('stopping', 'stopAnswered', (real) => (state, event) => {
        const after = real(state, event);
        return after.phase === 'backing-off' ? { ...after, stopsStarted: state.stopsStarted } : after;
      }),
      /not accounted for/,
    ],
    [
      'an end without a resume',
      defect('ending', 'settled', (real) => (state, event) => ({
        ...real({ ...state, suspended: false }, event),
        suspended: state.suspended,
      })),
      /left suspended/,
    ],
    [
      'a next attempt that is awaited while the job is suspended',
      defect('between-attempts', 'attemptReleased', (real) => (state, event) => ({
        ...real({ ...state, suspended: false }, event),
        suspended: state.suspended,
      })),
      /awaited while the job is suspended/,
    ],
    ['a cancellation that a phase ignores', defect('placing', 'interrupted', ignored), /has no end/],
    ['a stop whose answer changes nothing', defect('stopping', 'stopAnswered', ignored), /answered and asked again/],
    [
      'a second record',
      defect('recording', 'recorded', () => (state) => ({ ...state, turn: state.turn + 1 }), ['recording']),
      /recorded twice|has no end/,
    ],
    [
      'a cancellation that replaces the end',
      defect(
        'recording',
        'interrupted',
        () => (state, event) =>
          event.kind === 'interrupted' ? ({ ...state, end: event.end } as RecoveryState) : state,
      ),
      /another end/,
    ],
    [
      'a hold that is prepared like a stop',
      defect(
        'deciding',
        'decided',
        (real) => (state, event) =>
          real(
            state,
            event.kind === 'decided' && event.decision.kind === 'hold'
              ? { ...event, decision: { ...event.decision, kind: 'stop', by: 'suspend' } }
              : event,
          ),
      ),
      /a held recovery/,
    ],
    [
      'a change during the preparation that is ignored',
      defect(
        'preparing',
        'prepared',
        (real) => (state, event) =>
          real(
            state.phase === 'preparing' ? { ...state, covers: { ...state.covers, revision: state.revision } } : state,
            event,
          ),
      ),
      /something changed/,
    ],
    [
      'a fault of the next incident that is reported as handled',
      defect('ending', 'faultsObserved', (real) => (state, event) => {
        const after = real(state, event);
        return after.phase === 'ending' ? { ...after, covered: after.faults.map(({ id }) => id) } : after;
      }),
      /no look has covered/,
    ],
    [
      'an answer of a person that is dropped',
      defect('preparing', 'prepared', (real) => (state, event) => ({ ...real(state, event), questions: noQuestions })),
      /answer of a person is forgotten/,
    ],
    [
      'deletions by force without end',
      defect('stopping', 'stopAnswered', (real) => (state, event) => {
        const after = real(state, event);
        return after.phase === 'stopping' && after.stop && after.turn > state.turn
          ? { ...after, stop: { ...after.stop, rounds: 1 } }
          : after;
      }),
      /rounds by force/,
    ],
    [
      'looks that follow each other without end while another client changes the job',
      defect('stopping', 'stopAnswered', (real) => (state, event) => ({ ...real(state, event), interferences: 0 })),
      /stops in a row did nothing/,
    ],
    [
      'a phase that the table does not name',
      defect('held', 'lookOutdated', (real) => real, []),
      /which the table does not say/,
    ],
  ])('is found to break them with %s', (_defect, mutant, message) => {
    expect(violationIn(mutant, message)).toMatch(message);
  });
});
