import { describe, expect, it } from '@jest/globals';
import { dataOf, firstState, type JobState } from '../../workflows/job/state.ts';
import { type JobEvent, jobTransitions } from '../../workflows/job/transitions.ts';
import { nextState } from '../../workflows/state-machine.ts';
import { findEndless, jobEvents, jobTable, type JobTable, violations } from '../support/job-machine.ts';
import { findViolation } from '../support/machine-properties.ts';

const property = { first: () => firstState(0), events: jobEvents, violations };

type Phase = JobState['phase'];
type EventOf<Kind extends JobEvent['kind']> = Extract<JobEvent, { readonly kind: Kind }>;
type Next<Kind extends JobEvent['kind']> = (state: JobState, event: EventOf<Kind>) => JobState;

/** The table with another `next`: a defect. */
function broken<Kind extends JobEvent['kind']>(
  phase: Phase,
  kind: Kind,
  change: (next: Next<Kind>) => Next<Kind>,
  to: readonly Phase[] = [],
): JobTable {
  const entry = (
    jobTable[phase] as Partial<Record<string, { readonly to: readonly Phase[]; readonly next: Next<Kind> }>>
  )[kind];
  const mutant = { to: [...(entry?.to ?? []), ...to], next: change(entry?.next ?? ((state) => state)) };
  return { ...jobTable, [phase]: { ...jobTable[phase], [kind]: mutant } };
}

/** A fault is recorded, and the phase stays. */
const onlyRecorded: Next<'faultsObserved'> = (state, event) =>
  ({ ...state, ...dataOf(nextState(jobTransitions, { ...dataOf(state), phase: 'deciding' }, event)) }) as JobState;

/** What the state would be, with some of its data as before. */
const unchanged = (before: JobState, after: JobState, ...fields: readonly (keyof JobState)[]): JobState =>
  ({
    ...after,
    ...(Object.fromEntries(fields.map((field) => [field, before[field]])) as Partial<JobState>),
  }) as JobState;

describe('the machine of a job', () => {
  it('keeps its invariants in any order of events', () => {
    expect(findViolation(jobTable, property, 2000)).toBeUndefined();
  });

  it.each<[string, JobTable, RegExp]>([
    [
      'an inbox that new faults replace',
      broken('recovering', 'faultsObserved', (next) => (state, event) => next({ ...state, inbox: [] }, event)),
      /was lost/,
    ],
    [
      'a report that takes every fault along',
      broken('recovering', 'recoveryEnded', (next) => (state, event) => ({
        ...next(state, event),
        inbox: [],
        sent: [],
      })),
      /was lost/,
    ],
    [
      'a dismissed fault that is not remembered',
      broken('deciding', 'decided', (next) => (state, event) => unchanged(state, next(state, event), 'seen')),
      /is forgotten/,
    ],
    [
      'a fault that counts as sent although it changed',
      broken('recovering', 'faultsObserved', (next) => (state, event) => unchanged(state, next(state, event), 'sent')),
      /does not get the change/,
    ],
    [
      'faults that stay sent when their recovery has ended',
      broken('recovering', 'recoveryEnded', (next) => (state, event) => ({
        ...next(state, event),
        sent: state.inbox.map(({ id }) => id),
      })),
      /sent to no recovery|does not wait/,
    ],
    [
      'a second incident while one is open',
      broken(
        'deciding',
        'decided',
        (next) => (state, event) =>
          next(
            { ...dataOf(state), phase: 'deciding', open: undefined },
            { ...event, about: undefined, incident: event.incident && `${event.incident}-again` },
          ),
      ),
      /second incident|forgotten|something else/,
    ],
    [
      'a decision about another incident that is carried out',
      broken('deciding', 'decided', (next) => (state, event) => next(state, { ...event, about: state.open?.incident })),
      /about something else/,
    ],
    [
      'a recovery that is started again',
      broken(
        'starting',
        'begun',
        (next) => (state, event) =>
          next({ ...state, ...(state.open && { open: { ...state.open, started: false } }) }, event),
      ),
      /started again/,
    ],
    [
      'a start that comes after the report',
      broken(
        'watching',
        'recoveryStarted',
        () =>
          (state, { incident }) =>
            state.last?.incident === undefined
              ? state
              : {
                  ...dataOf(state),
                  phase: 'recovering',
                  open: { incident: state.last.incident ?? incident, since: 0, started: true },
                },
      ),
      /ended is open again/,
    ],
    [
      'a recovery that costs nothing',
      broken('opening', 'recoveryStarted', (next) => (state, event) => unchanged(state, next(state, event), 'usage')),
      /does not count/,
    ],
    [
      'a report before the start that costs nothing',
      broken('opening', 'recoveryEnded', (next) => (state, event) => unchanged(state, next(state, event), 'usage')),
      /does not count/,
    ],
    [
      'a refund for a recovery that began a stop',
      broken('recovering', 'recoveryEnded', (next) => (state, event) => ({ ...next(state, event), usage: [] })),
      /no longer counts/,
    ],
    [
      'a decision that opens for faults that are gone',
      broken('deciding', 'decided', (next) => (state, event) => {
        const { incident } = event;
        const begins = event.decision.kind === 'open' && incident !== undefined && event.about === state.open?.incident;
        if (!begins || state.inbox.length > 0) return next(state, event);
        return {
          ...dataOf(next(state, event)),
          phase: 'opening',
          open: { incident, since: 0, started: false },
          limits: event.decision.limits,
        };
      }),
      /begins for nothing|forgotten|second/,
    ],
    [
      'a fault that was answered and comes back',
      broken('recovering', 'faultsObserved', (next) => (state, event) => ({
        ...next({ ...state, seen: [] }, event),
        seen: state.seen,
      })),
      /handled again/,
    ],
    [
      'an incident that a rest hides',
      broken('opening', 'recoveryStarted', (next) => (state, event) => ({
        ...dataOf(next(state, event)),
        phase: 'watching',
      })),
      /does not fit/,
    ],
    [
      'an inbox without a bound',
      broken(
        'watching',
        'faultsObserved',
        (next) => (state, event) =>
          next(
            { ...state, usage: Array.from({ length: 201 }, (_, index) => ({ incident: `i${index}`, startedAt: 0 })) },
            event,
          ),
      ),
      /without a bound/,
    ],
    [
      'a request that a fault drops',
      broken('deciding', 'faultsObserved', (next) => (state, event) => next({ ...state, requests: [] }, event)),
      /request was forgotten|label stays/,
    ],
    ['a label that is not removed', broken('recovering', 'recoveryRequested', () => (state) => state), /label stays/],
    [
      'a promise that is refused with the label',
      broken('deciding', 'decided', (next) => (state, event) => {
        const after = next(state, event);
        return event.decision.kind === 'open' && state.open
          ? { ...dataOf(after), open: undefined, phase: 'watching' }
          : after;
      }),
      /promise|forgotten/,
    ],
    [
      'a pause that a read ends',
      broken('paused', 'jobRead', (next) => (state, event) => next({ ...state, paused: undefined }, event)),
      /pause is gone/,
    ],
    [
      'a pause that no person is notified of',
      broken(
        'watching',
        'pauseRequested',
        (next) => (state, event) => unchanged(state, next(state, event), 'pauseChanges'),
      ),
      /notified of a pause/,
    ],
    [
      'a report that reports two pauses',
      broken('watching', 'pauseReported', () => (state) => ({ ...state, pauseChanges: [] })),
      /notified of a pause/,
    ],
    ['a fault that waits for nothing', broken('watching', 'faultsObserved', () => onlyRecorded), /nothing decides/],
    [
      'a fault that waits for the time of an older decision',
      broken('waiting', 'faultsObserved', () => onlyRecorded),
      /older decision/,
    ],
    [
      'a decision that hides what arrived during it',
      broken('deciding', 'decided', (next) => (state, event) => next(state, { ...event, revision: state.revision })),
      /during the decision/,
    ],
    [
      'a change that a read of the past hides',
      broken('watching', 'jobRead', (next) => (state, event) => next({ ...state, mustRead: false }, event)),
      /change of the job was forgotten/,
    ],
    [
      'a status of another phase',
      broken('deciding', 'decided', (next) => (state, event) => unchanged(state, next(state, event), 'status')),
      /shows/,
    ],
    [
      'an end that comes too early',
      broken(
        'watching',
        'closed',
        () => (state) =>
          state.over
            ? { ...dataOf(state), phase: 'ended', outcome: state.over, status: { ...state.status, phase: 'ended' } }
            : state,
      ),
      /something left to do/,
    ],
    [
      'an end that is none',
      broken('ended', 'jobObserved', () => (state) => ({ ...state, mustRead: true })),
      /after the end/,
    ],
  ])('is found to break them with %s', (_defect, mutant, message) => {
    expect(findViolation(mutant, property, 2000, message)).toMatch(message);
  });

  it('comes to its end when its job has gone, whatever happened before', () => {
    expect(findEndless(jobTable)).toBeUndefined();
  });

  it.each<[string, JobTable]>([
    ['a read that finds the job gone and changes nothing', broken('watching', 'jobRead', () => (state) => state)],
    ['a read that is never enough', broken('watching', 'readBegan', () => (state) => state)],
    ['a read during a wait that changes nothing', broken('waiting', 'jobRead', () => (state) => state)],
    ['a start that is repeated without end', broken('opening', 'recoveryStarted', () => (state) => state)],
    ['a pause that is reported without end', broken('recovering', 'pauseReported', () => (state) => state)],
    ['a label that is removed without end', broken('recovering', 'labelRemovalBegan', () => (state) => state)],
    ['faults that are sent without end', broken('recovering', 'faultsForwarded', () => (state) => state)],
  ])('is found to have none with %s', (_defect, mutant) => {
    expect(findEndless(mutant)).toMatch(/no end/);
  });
});
