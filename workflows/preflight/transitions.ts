/** What each event does to the state of a collection of preflight reports. Pure. */

import type { ObservedWorkload } from '../../contract/wire/activities.ts';
import type { CollectedReport, PreflightDecision, TestingPod } from '../../contract/preflight/preflight.ts';
import type { RefusedReport } from '../../contract/preflight/files.ts';
import type { CommonTransitions, InPhase, Transition, Transitions } from '../state-machine.ts';
import { abnormalNodes, closeRun, partialReportOf, reportOf } from './closing.ts';
import { sortInbox } from './inbox.ts';
import {
  type Collection,
  dataOf,
  type Deadlines,
  isComplete,
  isUrgent,
  type Judged,
  type OpenRun,
  type PreflightState,
  shownPhase,
  type TimerName,
  withRefused,
} from './state.ts';

export type PreflightEvent = Arrival | (Answer & { readonly effect: number; readonly at: number });

/** Times are those of the workflow, ms. */
export type Arrival = { readonly at: number } & (
  | {
      readonly kind: 'reportsArrived';
      readonly reports: readonly CollectedReport[];
      readonly refused: readonly RefusedReport[];
      readonly dropped: number;
    }
  | { readonly kind: 'podsTesting'; readonly pod: TestingPod }
  | { readonly kind: 'podsGone' }
  | { readonly kind: 'timerFired'; readonly timer: TimerName; readonly id: number }
);

/** What the effect of a phase answers with. */
export type Answer =
  /** Something has arrived, or a timer has fired. */
  | { readonly kind: 'changesSeen' }
  /** Nothing in `seen`: the workload could not be observed. */
  | { readonly kind: 'workloadObserved'; readonly seen?: ObservedWorkload | undefined }
  | { readonly kind: 'deadlinesDecided'; readonly inactivityMs: number; readonly deadlineMs: number }
  | { readonly kind: 'verdictDecided'; readonly decision: PreflightDecision }
  /** Ids of the faults that were accepted, and why others were not. */
  | { readonly kind: 'nodesNotified'; readonly accepted: readonly string[]; readonly because: string }
  | { readonly kind: 'jobObserved'; readonly seen?: ObservedWorkload | undefined }
  | { readonly kind: 'reported' };

type Phase = PreflightState['phase'];
type In<P extends Phase> = InPhase<PreflightState, P>;
type Of<Kind extends PreflightEvent['kind']> = Extract<PreflightEvent, { readonly kind: Kind }>;

/** Tries to notify a node before it is left to people. */
export const mostTries = 20;

/** How often a workload that sends nothing is checked for existence. */
const lookAfterMs = 24 * 60 * 60_000;

/** Reports and notices that may wait. */
const mostInInbox = 20_000;

/** In every phase: what arrives waits until the effect that is running has answered. */
const always = {
  reportsArrived: {
    to: [],
    next: (state, { reports, refused, dropped, at }) => {
      const taken = reports.slice(0, Math.max(0, mostInInbox - state.inbox.length));
      return {
        ...state,
        inbox: [...state.inbox, ...taken.map((report) => ({ report, at }))],
        refused: withRefused(state.refused, refused),
        dropped: state.dropped + dropped + reports.length - taken.length,
      };
    },
  },
  podsTesting: { to: [], next: (state, { pod, at }) => ({ ...state, inbox: [...state.inbox, { testing: pod, at }] }) },
  podsGone: { to: [], next: (state) => ({ ...state, podsGone: true }) },
  timerFired: { to: [], next: withTimerFired },
} satisfies CommonTransitions<PreflightState, PreflightEvent>;

export const preflightTransitions: Transitions<PreflightState, PreflightEvent> = {
  waiting: {
    ...always,
    changesSeen: answer(['observing', 'opening', 'judging'], (state, { at }) => settle(state, at)),
  },
  observing: {
    ...always,
    workloadObserved: answer(['waiting', 'opening', 'collecting', 'judging', 'ended'], workloadObserved),
  },
  opening: { ...always, deadlinesDecided: answer(['observing', 'collecting', 'judging'], deadlinesDecided) },
  collecting: { ...always, changesSeen: answer(['observing', 'judging'], (state, { at }) => settle(state, at)) },
  judging: { ...always, verdictDecided: answer(['notifying', 'closing', 'reporting'], verdictDecided) },
  notifying: { ...always, nodesNotified: answer(['judging', 'closing', 'reporting'], nodesNotified) },
  closing: { ...always, jobObserved: answer(['reporting'], (state, { seen }) => closed(state, followsFrom(seen))) },
  reporting: {
    ...always,
    reported: answer(['waiting', 'observing', 'opening', 'collecting', 'judging', 'ended'], (state, { at }) =>
      settle(state, at),
    ),
  },
  ended: {},
};

/** An answer to an earlier effect came twice or too late, and changes nothing. */
function answer<Before extends PreflightState, Event extends Answer & { readonly effect: number; readonly at: number }>(
  to: readonly Phase[],
  next: (state: Before, event: Event) => PreflightState,
): Transition<PreflightState, Before, Event> {
  return {
    to,
    next: (state, event) => {
      if (event.effect !== state.effect) return state;
      const after = next(state, event);
      return {
        ...after,
        effect: state.effect + 1,
        since: shownPhase(after) === shownPhase(state) ? state.since : event.at,
      };
    },
  };
}

/** Sorts what arrived, and says what the run, or the wait for one, needs next. */
function settle(before: Collection, at: number): PreflightState {
  const { open, ...data } = sortInbox({ ...dataOf(before), open: before.open });
  if (open?.superseded) return { ...data, phase: 'judging', open, evidence: 'superseded' };
  if (open && isComplete(open)) return { ...data, phase: 'judging', open, evidence: 'complete' };
  if (open && isUrgent(open)) return { ...data, phase: 'judging', open, evidence: 'part' };
  if (data.podsGone || data.idle?.fired) return { ...data, phase: 'observing', open, podsGone: false, idle: undefined };
  // What was found about the nodes stays true without the job.
  if (data.over)
    return open
      ? { ...data, phase: 'judging', open, evidence: 'expired' }
      : { ...data, phase: 'ended', over: data.over };
  if (!open)
    return { ...data, phase: 'waiting', idle: data.idle ?? { id: data.effect, at: at + lookAfterMs, fired: false } };
  const { deadlines } = open;
  if (!deadlines) return { ...data, phase: 'opening', open, idle: undefined };
  const { inactivity, deadline, reportsSeen } = deadlines;
  const nothingCame = inactivity.fired && reportsSeen === open.reports.length;
  if (deadline.fired || nothingCame) return { ...data, phase: 'judging', open, evidence: 'expired' };
  return {
    ...data,
    phase: 'collecting',
    open: { ...open, deadlines: inactivity.fired ? waitAnew(open, deadlines, data.effect) : deadlines },
  };
}

/** Reports came since the timer was set: waits for the rest of the time after the last of them. */
const waitAnew = ({ lastAt, reports }: OpenRun, deadlines: Deadlines, id: number): Deadlines => ({
  ...deadlines,
  inactivity: { id, at: lastAt + deadlines.inactivityMs, fired: false },
  reportsSeen: reports.length,
});

function withTimerFired(state: PreflightState, { timer, id }: Of<'timerFired'>): PreflightState {
  if (timer === 'idle') return state.idle?.id === id ? { ...state, idle: { ...state.idle, fired: true } } : state;
  if (!('open' in state) || !state.open?.deadlines) return state;
  const { deadlines } = state.open;
  if (deadlines[timer].id !== id) return state;
  return {
    ...state,
    open: { ...state.open, deadlines: { ...deadlines, [timer]: { ...deadlines[timer], fired: true } } },
  };
}

function workloadObserved(state: In<'observing'>, { seen, at }: Of<'workloadObserved'>): PreflightState {
  return settle({ ...state, over: seen === undefined || seen.kind === 'there' ? undefined : seen }, at);
}

function deadlinesDecided(
  state: In<'opening'>,
  { inactivityMs, deadlineMs, at }: Of<'deadlinesDecided'>,
): PreflightState {
  const { open, effect: id } = state;
  const deadlines: Deadlines = {
    inactivityMs,
    inactivity: { id, at: at + inactivityMs, fired: false },
    reportsSeen: open.reports.length,
    deadline: { id, at: at + deadlineMs, fired: false },
    endsAt: open.startedAt + deadlineMs,
  };
  return settle({ ...state, open: { ...open, deadlines } }, at);
}

function verdictDecided(state: In<'judging'>, { decision }: Of<'verdictDecided'>): PreflightState {
  const { open, evidence, first = decision } = state;
  const nodes = abnormalNodes(first);
  const found =
    nodes.length === 0 ? state.found : { nodes: nodes.slice(0, 20), fault: first.faults[0]?.code ?? 'preflight' };
  const judged = { ...dataOf(state), found, open, evidence, first };
  const { faults: pending, because, left } = decision;
  return pending.length === 0
    ? concluded(judged)
    : { ...judged, phase: 'notifying', pending, because, left, tries: 1, refusal: '' };
}

/** Each fault is sent until Temporal accepts it, and then no more: a node that a person has released meanwhile would be quarantined again. */
function nodesNotified(state: In<'notifying'>, { accepted, because }: Of<'nodesNotified'>): PreflightState {
  const ids = new Set(accepted);
  const done = state.pending.flatMap(({ id, node }) => (ids.has(id) && node !== undefined ? [node] : []));
  const pending = state.pending.filter(({ id }) => !ids.has(id));
  const open = { ...state.open, notified: [...state.open.notified, ...done] };
  if (pending.length > 0 && state.tries < mostTries)
    return { ...state, open, pending, tries: state.tries + 1, refusal: because };
  const givenUp = pending.flatMap(({ node }) => (node === undefined ? [] : [{ node, because }]));
  const { evidence, first } = state;
  const all = {
    ...open,
    notified: [...open.notified, ...givenUp.map(({ node }) => node)],
    unnotified: [...open.unnotified, ...givenUp],
  };
  const judged = { ...dataOf(state), open: all, evidence, first };
  return state.left > 0 ? { ...judged, phase: 'judging' } : concluded(judged);
}

/** All nodes are notified, or given up. They come before the job and people, because that keeps the next pods off them. */
function concluded(judged: Collection & Judged): PreflightState {
  const { evidence, first } = judged;
  if (evidence === 'part') {
    const open = { ...judged.open, looked: judged.open.reports.map(({ report }) => report.rank) };
    return { ...dataOf(judged), phase: 'reporting', open, report: partialReportOf(open, first) };
  }
  const timeless = { ...dataOf(judged), open: { ...judged.open, deadlines: undefined }, evidence, first };
  return first.acts && abnormalNodes(first).length > 0 ? { ...timeless, phase: 'closing' } : closed(timeless, '');
}

function closed(judged: Collection & Judged, follows: string): PreflightState {
  const { open, ...rest } = closeRun(dataOf(judged), judged);
  return { ...rest, phase: 'reporting', open, report: reportOf(rest.last, judged.open, follows) };
}

function followsFrom(seen: ObservedWorkload | undefined): string {
  if (seen?.kind !== 'there') return '';
  return seen.optedIn
    ? '; the job is restarted whole once they are quarantined'
    : '; it is not opted in to cascading recovery, so its pods are left as they are';
}
