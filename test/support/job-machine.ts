/** Events of a job's workflow in any order, late and lost ones among them, and what must hold of its state. Pure. */

import * as fc from 'fast-check';
import type { Fault } from '../../contract/faults/faults.ts';
import type { IncidentDecision, JobOutcome } from '../../contract/job/training-job.ts';
import { nextRequest } from '../../workflows/job/incident.ts';
import { toForward } from '../../workflows/job/inbox.ts';
import { continuedState, firstState, hasWork, isDone, type JobState, most } from '../../workflows/job/state.ts';
import { nextStep } from '../../workflows/job/steps.ts';
import { type JobEvent, type JobHappening, jobTransitions } from '../../workflows/job/transitions.ts';
import { nextState, type Transitions } from '../../workflows/state-machine.ts';
import { job, kernelFault, podFault } from './builders.ts';
import type { Played } from './machine-properties.ts';

/** A run that ends and continues as new: no event of the workflow, but of its driver. */
interface RunContinued {
  readonly kind: 'runContinued';
  readonly at: number;
}
export type PlayedEvent = JobEvent | RunContinued;
export type JobTable = Transitions<JobState, PlayedEvent>;

/** The table of the workflow, and continue-as-new wherever its driver may continue. */
export function withContinuedRuns(table: Transitions<JobState, JobEvent>): JobTable {
  const runContinued = {
    to: ['starting'],
    next: (state: JobState, { at }: RunContinued) =>
      state.pauseChanges.length > 0 || state.labelLeft || state.labelRemovals > 0 ? state : continuedState(state, at),
  } as const;
  const { watching, paused, waiting, refused, deciding, recovering, stuck } = table;
  return {
    ...table,
    watching: { ...watching, runContinued },
    paused: { ...paused, runContinued },
    waiting: { ...waiting, runContinued },
    refused: { ...refused, runContinued },
    deciding: { ...deciding, runContinued },
    recovering: { ...recovering, runContinued },
    stuck: { ...stuck, runContinued },
  };
}

export const jobTable = withContinuedRuns(jobTransitions);

const by = { by: 'ada', reason: 'a test' };
const gone: JobOutcome = { job, outcome: 'gone', because: 'the job object is gone' };
const decided = { because: 'a test decides', settings: 'test' } as const;
const limits = { attempts: 3, holdMs: 1, stopMs: 1, restartMs: 1, placementMs: 1 };

const fault = fc
  .record({ id: fc.constantFrom('a', 'b'), isPod: fc.boolean(), quarantined: fc.boolean(), unobservable: fc.boolean() })
  .map(({ id, isPod, quarantined, unobservable }): Fault => {
    const more = { id, ...(unobservable && { unobservable: 'its agent is silent' }) };
    return isPod
      ? podFault(more)
      : kernelFault({ ...more, ...(quarantined && { quarantine: { state: 'quarantined', because: 'xid/79' } }) });
  });

type Make = (state: JobState, at: number) => JobHappening | { readonly kind: 'runContinued' };

const arrivals: readonly fc.Arbitrary<Make>[] = [
  fc
    .record({ faults: fc.array(fault, { maxLength: 3 }), dropped: fc.nat(1) })
    .map((payload) => () => ({ kind: 'faultsObserved', ...payload })),
  fc.boolean().map((label) => () => ({ kind: 'recoveryRequested', request: { ...by, ...(label && { label }) } })),
  // Its validator refuses where the driver could not keep the promise.
  fc.constant((state: JobState, at: number) =>
    state.open || state.over || (state.phase === 'starting' && state.isFirstRun)
      ? { kind: 'jobObserved' }
      : { kind: 'recoverNowRequested', incident: `i${at}`, request: by },
  ),
  fc.constant(() => ({ kind: 'pauseRequested', request: by })),
  fc.constant(() => ({ kind: 'resumeRequested', request: by })),
  fc.constant(() => ({ kind: 'jobObserved' })),
  fc.constant(() => ({ kind: 'runContinued' })),
];

const report = (
  state: JobState,
  at: number,
  kind: 'own' | 'other' | 'unreadable',
  stopsStarted: number,
  isTaken: boolean,
): JobHappening => {
  const incident = kind === 'own' ? (state.open?.incident ?? `i${at}`) : 'recovery/of-an-earlier-run';
  const known = { incident, outcome: 'restarted', because: 'it runs', stops: stopsStarted, stopsStarted };
  return {
    kind: 'recoveryEnded',
    report:
      kind === 'unreadable' ? { outcome: 5 } : { ...known, faults: isTaken ? state.inbox.map(({ id }) => id) : [] },
  };
};

type Kind = 'nothing' | 'paused' | 'wait' | 'refuse' | 'open';

/** What policy could answer: a request is never made to wait. */
function decision(
  state: JobState,
  at: number,
  kind: Kind,
  { isStale = false, isAboutOther = false } = {},
): JobHappening {
  const asked = state.open ? state.open.askedBy : nextRequest(state);
  const all = {
    dismissed: kind === 'nothing' ? state.inbox.map(({ id }) => ({ id, because: 'over' })) : [],
    at,
    ...decided,
  };
  const answer: IncidentDecision =
    kind === 'open' || (asked && !asked.byLabel)
      ? { ...all, kind: 'open', limits, attribution: { blame: 'user' } }
      : asked
        ? { ...all, kind: 'refuse', until: at + 5, remedy: 'kcover recover', request: true }
        : kind === 'wait'
          ? { ...all, kind, until: at + 5 }
          : kind === 'refuse'
            ? { ...all, kind: 'refuse', until: at + 5, remedy: 'kcover recover' }
            : { ...all, kind };
  const about = isAboutOther ? 'recovery/of-another-decision' : state.open?.incident;
  const opens = answer.kind === 'open' ? { incident: state.open?.incident ?? `i${at}` } : {};
  return {
    kind: 'decided',
    decision: answer,
    revision: isStale ? -1 : state.revision,
    about,
    asked,
    overrides: undefined,
    ...opens,
  };
}

const answers: readonly fc.Arbitrary<Make>[] = [
  fc.constant(() => ({ kind: 'readBegan' })),
  fc.boolean().map((isOver) => () => ({ kind: 'jobRead', over: isOver ? gone : undefined, overrides: undefined })),
  fc.boolean().map((hasOpen) => (_state: JobState, at: number) => ({
    kind: 'recoveriesFound',
    optedInAt: '2026-11-21T06:00:00Z',
    found: { usage: [], ...(hasOpen && { open: `found${at}` }) },
  })),
  fc.constantFrom('makes no progress', undefined).map((stuck) => () => ({ kind: 'begun', stuck })),
  fc.constant((state: JobState) => (state.pauseChanges.length > 0 ? { kind: 'pauseReported' } : { kind: 'waitEnded' })),
  fc.constant((state: JobState) =>
    state.labelRemovals > 0 ? { kind: 'labelRemovalEnded' } : { kind: 'labelRemovalBegan' },
  ),
  fc
    .record({
      kind: fc.constantFrom<Kind>('nothing', 'paused', 'wait', 'refuse', 'open'),
      isStale: fc.boolean(),
      isAboutOther: fc.boolean(),
    })
    // The label is removed before anything is decided about its request.
    .map(
      ({ kind, ...late }) =>
        (state: JobState, at: number) =>
          nextRequest(state)?.label ? { kind: 'labelRemovalBegan' } : decision(state, at, kind, late),
    ),
  fc.boolean().map((isLate) => (state: JobState) => ({
    kind: 'recoveryStarted',
    incident: isLate ? 'late' : (state.open?.incident ?? 'late'),
  })),
  fc.constant((state: JobState) => ({
    kind: 'faultsForwarded',
    incident: state.open?.incident ?? 'late',
    ids: toForward(state).map(({ id }) => id),
  })),
  fc
    .constantFrom('makes no progress', undefined)
    .map((stuck) => (state: JobState) => ({ kind: 'recoverySeen', incident: state.open?.incident ?? 'late', stuck })),
  fc
    .record({ kind: fc.constantFrom('own', 'own', 'other', 'unreadable'), stops: fc.nat(1), isTaken: fc.boolean() })
    .map(
      ({ kind, stops, isTaken }) =>
        (state: JobState, at: number) =>
          report(state, at, kind, stops, isTaken),
    ),
  fc.constant(() => ({ kind: 'closed' })),
];

/** The answer that the driver waits for, so that most phases are reached. */
const awaited = fc.constantFrom<Kind>('wait', 'refuse', 'open', 'open', 'open').map((kind): Make => (state, at) => {
  switch (state.phase) {
    case 'starting':
      return { kind: 'begun' };
    case 'deciding':
      return nextRequest(state)?.label ? { kind: 'labelRemovalBegan' } : decision(state, at, kind);
    case 'opening':
      return { kind: 'recoveryStarted', incident: state.open.incident };
    case 'recovering':
    case 'stuck':
      if (kind === 'wait') return report(state, at, 'own', 1, true);
      return { kind: 'faultsForwarded', incident: state.open.incident, ids: toForward(state).map(({ id }) => id) };
    default:
      return isDone(state) || state.phase === 'ended'
        ? { kind: 'closed' }
        : { kind: 'faultsObserved', faults: [kernelFault({ id: `new${at}` })], dropped: 0 };
  }
});

const one = fc.oneof({ arbitrary: fc.oneof(...arrivals, ...answers), weight: 3 }, { arbitrary: awaited, weight: 2 });

/** Every event as it could come in the state. */
export const jobEvents = fc.array(
  one.map((make) => (state: JobState, at: number): PlayedEvent => ({ ...make(state, at), at })),
  { maxLength: 40, size: 'max' },
);

type Step = Played<JobState, PlayedEvent>;
const idsOf = (faults: readonly Fault[]): string[] => faults.map(({ id }) => id);

/** Broken invariants of one step, as sentences. */
export const violations = (step: Step, earlier: readonly Step[]): string[] => [
  ...faultsKept(step),
  ...oneIncident(step, earlier),
  ...requestsKept(step),
  ...budgetKept(step),
  ...pauseKept(step),
  ...nothingWaitsForNothing(step),
  ...bounded(step),
];

/** A fault leaves only when it was dismissed, taken into account, or counted as dropped. */
function faultsKept({ before, event, after }: Step): string[] {
  const answered =
    event.kind === 'decided'
      ? event.decision.dismissed.map(({ id }) => id)
      : event.kind === 'recoveryEnded'
        ? reportedFaults(event.report)
        : [];
  const came =
    event.kind === 'faultsObserved' && before.phase !== 'ended'
      ? idsOf(event.faults).filter((id) => !before.seen.includes(id))
      : [];
  const kept = new Set([...idsOf(after.inbox), ...answered]);
  const lost = [...idsOf(before.inbox), ...came].filter((id) => !kept.has(id));
  const changed = before.inbox.filter(({ id, quarantine }) => {
    const now = after.inbox.find((one) => one.id === id);
    return now !== undefined && now.quarantine?.state !== quarantine?.state;
  });
  return [
    ...(lost.length > after.dropped - before.dropped ? [`${lost.join()} was lost`] : []),
    ...after.inbox.filter(({ id }) => before.seen.includes(id)).map(({ id }) => `${id} is handled again`),
    ...(event.kind === 'decided' || event.kind === 'recoveryEnded'
      ? answered
          .filter(
            (id) =>
              before.inbox.some((one) => one.id === id) && !after.seen.includes(id) && after.phase !== before.phase,
          )
          .map((id) => `${id} is forgotten`)
      : []),
    ...changed
      .filter(({ id }) => after.sent.includes(id))
      .map(({ id }) => `the recovery does not get the change of ${id}`),
    ...after.sent
      .filter((id) => !after.inbox.some((one) => one.id === id))
      .map((id) => `${id} was sent and does not wait`),
    ...(after.sent.length > 0 && !after.open
      ? ['faults count as sent to no recovery, so that the next one does not get them']
      : []),
  ];
}

const reportedFaults = (given: unknown): readonly string[] =>
  (given as { readonly faults?: readonly string[] }).faults ?? [];

/** One incident at a time, from its opening to its report. */
function oneIncident({ before, event, after }: Step, earlier: readonly Step[]): string[] {
  const [was, is] = [before.open, after.open];
  const isRefused =
    event.kind === 'decided' &&
    event.decision.kind === 'refuse' &&
    event.decision.request === true &&
    was?.started === false;
  const isReported =
    event.kind === 'recoveryEnded' && (event.report as { readonly incident?: string }).incident === was?.incident;
  const ended = earlier.filter((one) => one.before.open && !one.after.open).map((one) => one.before.open?.incident);
  const mustHave =
    after.phase === 'recovering' || after.phase === 'stuck'
      ? is?.started === true
      : after.phase === 'opening'
        ? is?.started === false
        : true;
  const mustNot = after.phase === 'watching' || after.phase === 'paused' || after.phase === 'ended';
  const isStale = event.kind === 'decided' && event.about !== was?.incident;
  return [
    ...(was && is && was.incident !== is.incident ? ['a second incident replaced the open one'] : []),
    ...(was && !is && !isReported && !isRefused ? ['an open incident was forgotten'] : []),
    ...(was?.started && is && !is.started ? ['a recovery that runs would be started again'] : []),
    ...(is && ended.includes(is.incident) ? ['an incident that has ended is open again'] : []),
    ...(mustHave && !(mustNot && is) ? [] : [`the phase ${after.phase} does not fit the incident`]),
    ...(isStale && (is?.incident !== was?.incident || after.phase !== before.phase)
      ? ['a decision about something else was carried out']
      : []),
    ...(before.phase === 'deciding' && after.phase === 'opening' && !is?.askedBy && after.inbox.length === 0
      ? ['a recovery begins for nothing']
      : []),
  ];
}

/** A label is removed from the job before its request is forgotten, and what a person asked for is kept. */
function requestsKept({ before, event, after }: Step): string[] {
  const hasLabel = ({ requests, labelLeft }: JobState) => labelLeft || requests.some(({ label }) => label);
  const isRefused = event.kind === 'decided' && event.decision.kind === 'refuse' && event.decision.request === true;
  const isTaken = after.open !== undefined && !after.requests.length;
  const asked = event.kind === 'recoveryRequested' && event.request.label === true && before.phase !== 'ended';
  return [
    ...((asked || hasLabel(before)) && !hasLabel(after) && event.kind !== 'labelRemovalBegan'
      ? ['a label stays on the job']
      : []),
    ...(after.requests.length < before.requests.length && !isRefused && !isTaken && event.kind !== 'recoveryEnded'
      ? ['a request was forgotten']
      : []),
    ...(event.kind === 'decided' && before.open && !before.open.askedBy?.byLabel && !after.open
      ? ['a promise to a person was refused']
      : []),
  ];
}

/** What a recovery costs is counted from its start until a report says otherwise. */
function budgetKept({ before, event, after }: Step): string[] {
  const { stopsStarted, incident } = (event.kind === 'recoveryEnded' ? event.report : {}) as {
    readonly stopsStarted?: number;
    readonly incident?: string;
  };
  const lost = before.usage.filter((one) => !after.usage.some((other) => other.incident === one.incident));
  const began = before.phase === 'opening' && after.phase !== 'opening' && event.kind !== 'runContinued';
  return [
    ...lost
      .filter((one) => stopsStarted !== 0 || one.incident !== incident)
      .map((one) => `${one.incident} no longer counts`),
    ...(began && !after.usage.some((one) => one.incident === before.open?.incident) && stopsStarted !== 0
      ? [`${before.open?.incident} does not count`]
      : []),
  ];
}

function pauseKept({ before, event, after }: Step): string[] {
  const isRequest = event.kind === 'pauseRequested' || event.kind === 'resumeRequested';
  const { pauseChanges: was } = before;
  const reported = event.kind === 'pauseReported' ? 1 : 0;
  return [
    ...(before.paused && !after.paused && event.kind !== 'resumeRequested'
      ? ['a pause is gone that no person ended']
      : []),
    ...(event.kind === 'pauseRequested' && before.phase !== 'ended' && !after.paused ? ['a pause has no effect'] : []),
    ...(!isRequest && after.pauseChanges.length < was.length - reported ? ['no person is notified of a pause'] : []),
    ...(event.kind === 'pauseRequested' && before.phase !== 'ended' && after.pauseChanges.length <= was.length
      ? ['no person is notified of a pause']
      : []),
  ];
}

/** Every phase shows itself, and none rests while there is something to do. */
function nothingWaitsForNothing({ before, event, after }: Step): string[] {
  const rests = after.phase === 'watching' || after.phase === 'paused';
  const isWait = after.phase === 'waiting' || after.phase === 'refused';
  const isOutdated = event.kind === 'decided' && event.revision !== before.revision && before.phase === 'deciding';
  const showsItself = after.phase !== 'deciding' && after.phase !== 'opening';
  return [
    ...(rests && !after.over && hasWork(after) ? ['something waits and nothing decides'] : []),
    ...(isWait && isOutdated && !after.isOutdated ? ['what arrived during the decision waits for its time'] : []),
    ...(isWait && after.revision !== before.revision ? ['what arrived waits for the time of an older decision'] : []),
    ...(before.mustRead && !after.mustRead && event.kind !== 'readBegan' ? ['a change of the job was forgotten'] : []),
    ...(showsItself && after.status.phase !== after.phase
      ? [`the phase ${after.phase} shows ${after.status.phase}`]
      : []),
    ...(after.phase === 'ended' && !(before.phase === 'ended' || isDone(before))
      ? ['it ended with something left to do']
      : []),
    ...(before.phase === 'ended' && JSON.stringify(after) !== JSON.stringify(before)
      ? ['something changed after the end']
      : []),
    ...(isDone(after) && !rests && after.phase !== 'starting' && after.phase !== 'ended'
      ? ['nothing is left to do, and it cannot end']
      : []),
  ];
}

const bounded = ({ after }: Step): string[] =>
  (['inbox', 'seen', 'requests', 'usage'] as const)
    .filter((field) => after[field].length > most[field])
    .map((field) => `${field} grows without a bound`);

/** What the driver does, with the answers of a job that has gone; the number of steps is bounded. */
function playToEnd(next: (state: JobState, event: PlayedEvent) => JobState, first: JobState): JobState {
  let state = first;
  let at = 1_000_000;
  const dispatch = (...events: readonly JobHappening[]) => {
    for (const event of events) state = next(state, { ...event, at: (at += 1) });
  };
  const open = () => state.open?.incident ?? 'none';
  const read: readonly JobHappening[] = [{ kind: 'readBegan' }, { kind: 'jobRead', over: gone, overrides: undefined }];
  dispatch({ kind: 'jobObserved' });
  while (state.labelRemovals > 0 && at < 1_000_500) dispatch({ kind: 'labelRemovalEnded' });
  while (state.phase !== 'ended' && at < 1_001_000) {
    if (isDone(state)) dispatch({ kind: 'closed' });
    const step = nextStep(state);
    if (step === 'begin') dispatch(...read, { kind: 'begun' });
    if (step === 'start') dispatch({ kind: 'recoveryStarted', incident: open() });
    if (step === 'read') dispatch(...read);
    if (step === 'report-pause') dispatch({ kind: 'pauseReported' });
    if (step === 'refuse-label') dispatch({ kind: 'labelRemovalBegan' }, { kind: 'labelRemovalEnded' });
    if (step === 'decide' && nextRequest(state)?.label)
      dispatch({ kind: 'labelRemovalBegan' }, { kind: 'labelRemovalEnded' });
    if (step === 'decide') dispatch(decision(state, at, 'open'));
    if (step === 'forward')
      dispatch({ kind: 'faultsForwarded', incident: open(), ids: toForward(state).map(({ id }) => id) });
    if (step !== 'wait') continue;
    if (state.phase === 'recovering' || state.phase === 'stuck') dispatch(report(state, at, 'own', 1, false));
    else if (state.phase === 'waiting' || state.phase === 'refused') dispatch({ kind: 'waitEnded' });
    else dispatch({ kind: 'jobObserved' });
  }
  return state;
}

/** Events after which the workflow does not end although its job has gone; undefined when there are none. */
export function findEndless(table: JobTable, runs = 1000): string | undefined {
  const next = (state: JobState, event: PlayedEvent) => nextState(table, state, event);
  const { failed, counterexample } = fc.check(
    fc.property(jobEvents, (events) => {
      const state = events.reduce<JobState>((before, make, at) => next(before, make(before, at)), firstState(0));
      return playToEnd(next, state).phase === 'ended';
    }),
    { numRuns: runs },
  );
  return failed ? `no end after ${counterexample?.[0].length} events` : undefined;
}
