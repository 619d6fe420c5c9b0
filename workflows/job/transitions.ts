/** What each event does to the state of a job. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type {
  IncidentDecision,
  JobOutcome,
  OpenIncident,
  RecoveryRequest,
  RequestedBy,
} from '../../contract/job/training-job.ts';
import type { CommonTransitions, InPhase, Transition, Transitions } from '../state-machine.ts';
import { arrived, dismissed, firstFaults, forwarded } from './inbox.ts';
import {
  adopted,
  type FoundRecoveries,
  incidentOf,
  isReportOf,
  reported,
  requested,
  requestRefused,
  started,
  withoutLabels,
} from './incident.ts';
import { dataOf, hasWork, isDone, type JobData, type JobState } from './state.ts';
import { shown } from './status.ts';

export type JobEvent = JobHappening & { readonly at: number };

export type JobHappening =
  | { readonly kind: 'faultsObserved'; readonly faults: readonly Fault[]; readonly dropped: number }
  | { readonly kind: 'jobObserved' }
  /** By signal: a label, or a person in the Temporal UI. */
  | { readonly kind: 'recoveryRequested'; readonly request: RecoveryRequest }
  /** By update: a person got the id of the incident as an answer. */
  | { readonly kind: 'recoverNowRequested'; readonly incident: string; readonly request: OperatorRequest }
  | { readonly kind: 'pauseRequested'; readonly request: OperatorRequest }
  | { readonly kind: 'resumeRequested'; readonly request: OperatorRequest }
  /** People and the open recovery were notified of the oldest pause or resume. */
  | { readonly kind: 'pauseReported' }
  /** A read of the job begins: what comes from here on, it may not show. */
  | { readonly kind: 'readBegan' }
  | { readonly kind: 'jobRead'; readonly over?: JobOutcome | undefined; readonly overrides: JobData['overrides'] }
  /** The first run has read the job, and asked Temporal for its recoveries. */
  | { readonly kind: 'recoveriesFound'; readonly optedInAt: string; readonly found: FoundRecoveries }
  /** The job was read in this run. `stuck`: why the open recovery makes no progress. */
  | { readonly kind: 'begun'; readonly stuck?: string | undefined }
  | { readonly kind: 'labelRemovalBegan' }
  | { readonly kind: 'labelRemovalEnded' }
  | Decided
  | { readonly kind: 'waitEnded' }
  | { readonly kind: 'recoveryStarted'; readonly incident: string }
  | { readonly kind: 'faultsForwarded'; readonly incident: string; readonly ids: readonly string[] }
  | { readonly kind: 'recoverySeen'; readonly incident: string; readonly stuck?: string | undefined }
  | { readonly kind: 'recoveryEnded'; readonly report: unknown }
  /** Nothing is left to do for a job that has ended. */
  | { readonly kind: 'closed' };

interface Decided {
  readonly kind: 'decided';
  readonly decision: IncidentDecision;
  /** What it was decided from: the revision, the incident that was open, the request, the overrides. */
  readonly revision: number;
  readonly about: string | undefined;
  readonly asked: RequestedBy | undefined;
  readonly overrides: JobData['overrides'];
  /** The incident that it opens. */
  readonly incident?: string | undefined;
}

type EventOf<Kind extends JobEvent['kind']> = Extract<JobEvent, { readonly kind: Kind }>;

const pausedBy = (state: JobState, { request: { by, reason } }: EventOf<'pauseRequested'>): JobState => ({
  ...state,
  paused: { by, reason },
  pauseChanges: [...state.pauseChanges, { by, reason, what: 'paused' }],
  revision: state.revision + 1,
});

const resumedBy = (state: JobState, { request: { by, reason } }: EventOf<'resumeRequested'>): JobState => ({
  ...state,
  paused: undefined,
  waitsForPause: false,
  pauseChanges: state.paused ? [...state.pauseChanges, { by, reason, what: 'resumed' }] : state.pauseChanges,
  revision: state.revision + 1,
});

const promisedTo = (state: JobState, { incident, request, at }: EventOf<'recoverNowRequested'>): JobState =>
  state.open ? state : { ...state, open: incidentOf(incident, at, request), revision: state.revision + 1 };

/** In every phase but the last. */
const always = {
  faultsObserved: { to: [], next: (state, event) => arrived(state, event, event.at) },
  jobObserved: { to: [], next: (state) => ({ ...state, mustRead: true }) },
  recoveryRequested: { to: [], next: (state, { request }) => requested(state, request) },
  pauseRequested: { to: [], next: pausedBy },
  resumeRequested: { to: [], next: resumedBy },
  pauseReported: { to: [], next: (state) => ({ ...state, pauseChanges: state.pauseChanges.slice(1) }) },
  readBegan: { to: [], next: (state) => ({ ...state, mustRead: false, readRevision: state.revision }) },
  jobRead: { to: [], next: (state, { over, overrides }) => ({ ...state, over, overrides }) },
  labelRemovalBegan: { to: [], next: (state) => ({ ...withoutLabels(state), labelRemovals: state.labelRemovals + 1 }) },
  labelRemovalEnded: { to: [], next: (state) => ({ ...state, labelRemovals: Math.max(0, state.labelRemovals - 1) }) },
  faultsForwarded: {
    to: [],
    next: (state, { incident, ids }) => (state.open?.incident === incident ? forwarded(state, ids) : state),
  },
  recoveryEnded: { to: [], next: (state, { report, at }) => reported(state, report, at) },
} satisfies CommonTransitions<JobState, JobEvent>;

/** The phase that follows from what is known, where nothing is under way. */
function settled(state: JobState, at: number): JobState {
  const data = dataOf(state);
  const { open } = data;
  if (open?.started) return shown(state.phase === 'stuck' ? state : { ...data, open, phase: 'recovering' }, at);
  if (open || (hasWork(data) && !data.over)) return { ...data, phase: 'deciding' };
  return shown({ ...data, phase: data.paused ? 'paused' : 'watching' }, at);
}

/** The entry of every phase, after which the phase follows from what is known. */
function thenSettled<Event extends JobEvent>(
  { next }: { readonly next: (state: JobState, event: Event) => JobState },
  ...to: readonly JobState['phase'][]
): Transition<JobState, JobState, Event> {
  return { to, next: (state, event) => settleChanged(state, next(state, event), event.at) };
}

/** What brings nothing new leaves a decision as it is. */
const settleChanged = (before: JobState, after: JobState, at: number): JobState =>
  after.revision === before.revision ? after : settled(after, at);

/** A read of the job is a reason to evaluate what waits again: its overrides may have changed. */
const jobRead = (...to: readonly JobState['phase'][]): Transition<JobState, JobState, EventOf<'jobRead'>> => ({
  to,
  next: (state, event) => settled(always.jobRead.next(state, event), event.at),
});

const atRest = {
  ...always,
  faultsObserved: thenSettled(always.faultsObserved, 'deciding'),
  recoveryRequested: thenSettled(always.recoveryRequested, 'deciding'),
  recoverNowRequested: thenSettled({ next: promisedTo }, 'deciding'),
  pauseRequested: thenSettled(always.pauseRequested, 'paused'),
  resumeRequested: thenSettled(always.resumeRequested, 'deciding', 'watching'),
  recoveryEnded: thenSettled(always.recoveryEnded),
  jobRead: jobRead('deciding'),
  closed: {
    to: ['ended'],
    next: (state, { at }) =>
      state.over && isDone(state) ? shown({ ...dataOf(state), phase: 'ended', outcome: state.over }, at) : state,
  },
} satisfies CommonTransitions<JobState, JobEvent>;

/** Judged again when anything arrives, or at its time. */
const untilTime = {
  ...always,
  faultsObserved: thenSettled(always.faultsObserved, 'deciding'),
  recoveryRequested: thenSettled(always.recoveryRequested, 'deciding'),
  recoverNowRequested: thenSettled({ next: promisedTo }, 'deciding'),
  pauseRequested: thenSettled(always.pauseRequested, 'deciding'),
  resumeRequested: thenSettled(always.resumeRequested, 'deciding'),
  recoveryEnded: thenSettled(always.recoveryEnded, 'deciding', 'paused', 'watching'),
  jobRead: jobRead('deciding', 'paused', 'watching'),
  waitEnded: { to: ['deciding'], next: (state, { at }) => settled(state, at) },
} satisfies CommonTransitions<JobState, JobEvent>;

/** A recovery runs. It may run and make no progress. */
const underRecovery = {
  ...always,
  faultsObserved: thenSettled(always.faultsObserved),
  recoveryEnded: thenSettled(always.recoveryEnded, 'deciding', 'paused', 'watching'),
  recoverySeen: { to: ['recovering', 'stuck'], next: (state, event) => seen(state, event) },
} satisfies CommonTransitions<JobState, JobEvent>;

export const jobTransitions: Transitions<JobState, JobEvent> = {
  starting: {
    ...always,
    // The first run knows nothing yet: its validator refuses.
    recoverNowRequested: { to: [], next: (state, event) => (state.isFirstRun ? state : promisedTo(state, event)) },
    recoveriesFound: {
      to: [],
      next: (state, { optedInAt, found, at }) =>
        state.isFirstRun ? { ...adopted(state, found, at), optedInAt } : state,
    },
    begun: {
      to: ['watching', 'paused', 'deciding', 'recovering', 'stuck'],
      next: (state, { stuck, at }) => seen(settled(state, at), { incident: state.open?.incident, stuck, at }),
    },
  },
  watching: atRest,
  paused: atRest,
  deciding: {
    ...always,
    recoverNowRequested: { to: [], next: promisedTo },
    jobRead: jobRead('paused', 'watching'),
    decided: { to: ['waiting', 'refused', 'opening', 'paused', 'watching'], next: decided },
  },
  waiting: untilTime,
  refused: untilTime,
  opening: {
    ...always,
    recoveryStarted: {
      to: ['recovering'],
      next: (state, { incident, at }) =>
        state.open.incident === incident ? settled(startedAsDecided(state), at) : state,
    },
    // Its report may be seen before the answer that it was started.
    recoveryEnded: {
      to: ['deciding', 'paused', 'watching'],
      next: (state, { report, at }) =>
        isReportOf(report, state.open)
          ? settled(reported(startedAsDecided(state), report, at), at)
          : reported(state, report, at),
    },
  },
  recovering: underRecovery,
  stuck: underRecovery,
  ended: {},
};

const startedAsDecided = (state: InPhase<JobState, 'opening'>): JobState =>
  started(state, state.open, state.attribution);

/** Whether the open recovery makes progress. */
function seen(
  state: JobState,
  {
    incident,
    stuck,
    at,
  }: { readonly incident: string | undefined; readonly stuck?: string | undefined; readonly at: number },
): JobState {
  const { open } = state;
  if (!open?.started || open.incident !== incident) return state;
  return shown(
    stuck === undefined
      ? { ...dataOf(state), open, phase: 'recovering' }
      : { ...dataOf(state), open, phase: 'stuck', because: stuck },
    at,
  );
}

function decided(state: InPhase<JobState, 'deciding'>, event: EventOf<'decided'>): JobState {
  const { decision, overrides, about, at } = event;
  const ids = decision.dismissed.map(({ id }) => id);
  // The decision was made with what it found.
  const taken = decision.found
    ? { ...arrived(state, { faults: decision.found, dropped: 0 }, at), revision: state.revision }
    : state;
  const judged = { ...dismissed(taken, ids), overrides, judgedAt: decision.at };
  // A person's request has come meanwhile, and is judged by itself.
  if (state.open?.incident !== about) return judged;
  // A late report may have taken the last fault into account meanwhile.
  if (!judged.open && (!hasWork(judged) || judged.over)) return settled(judged, at);
  const isOutdated = state.revision !== event.revision;
  const { because } = decision;
  switch (decision.kind) {
    case 'nothing':
      return settled(judged, at);
    case 'paused':
      return settled({ ...judged, waitsForPause: judged.paused !== undefined }, at);
    case 'wait':
      return shown({ ...judged, phase: 'waiting', because, until: decision.until, isOutdated }, at);
    case 'refuse':
      return decision.request
        ? settled(requestRefused(judged), at)
        : shown(
            { ...judged, phase: 'refused', because, until: decision.until, isOutdated, refusedUntil: decision.until },
            at,
          );
    case 'open':
      return opened(judged, event, decision);
  }
}

function opened(
  state: JobState,
  { incident, asked, at }: EventOf<'decided'>,
  { at: since, limits, attribution }: Extract<IncidentDecision, { kind: 'open' }>,
): JobState {
  const open: OpenIncident | undefined =
    state.open ?? (incident === undefined ? undefined : incidentOf(incident, since, asked));
  if (!open) return settled(state, at);
  // Marked as sent now: a fault that changes while the recovery is started is sent again.
  const data = forwarded(
    { ...dataOf(state), sent: [] },
    firstFaults(state).map(({ id }) => id),
  );
  return { ...data, phase: 'opening', open, limits, attribution };
}
