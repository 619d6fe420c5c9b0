/** What each event does to a planned maintenance. Pure. */

import type {
  MaintenanceOutcome,
  MaintenancePlan,
  MaintenanceView,
  OrderedQuarantine,
  ReturnResult,
} from '../../contract/node/maintenance.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import { iso } from '../../contract/settings/duration.ts';
import type { InPhase, Transitions } from '../state-machine.ts';
import { type MaintenanceData, type MaintenanceState, windowOf, withEvent } from './state.ts';

export type MaintenanceEvent =
  /** Null: the node is gone. */
  | { readonly kind: 'looked'; readonly view: MaintenanceView | null; readonly at: number }
  | { readonly kind: 'quarantined'; readonly quarantine: OrderedQuarantine; readonly at: number }
  | { readonly kind: 'jobsNotified' }
  | { readonly kind: 'windowEnded' }
  | { readonly kind: 'returned'; readonly result: ReturnResult }
  /** An activity failed for good. */
  | { readonly kind: 'stepFailed'; readonly because: string; readonly at: number }
  | { readonly kind: 'cancelRequested'; readonly request: OperatorRequest }
  | { readonly kind: 'replanned'; readonly plan: MaintenancePlan; readonly at: number }
  /** The first Event of the outbox was handed on. */
  | { readonly kind: 'sent' };

type EventOf<Kind extends MaintenanceEvent['kind']> = Extract<MaintenanceEvent, { readonly kind: Kind }>;

/** Until a step that failed for good is tried again, ms. */
const againMs = 60_000;

/** Jobs that a sentence names. */
const mostNamed = 5;

const words = ({ by, reason }: OperatorRequest): string => `${by}: ${reason}`;

function end(data: MaintenanceData, outcome: MaintenanceOutcome['outcome'], why: string): MaintenanceState {
  const isOpen = data.ordered === true && data.quarantine === undefined;
  const because = isOpen ? `${why}; whether its quarantine was written is not known: kcover node list` : why;
  const type = !isOpen && (outcome === 'returned' || outcome === 'cancelled') ? 'Normal' : 'Warning';
  const after = withEvent({ ...data, because }, type, 'maintenanceEnded', `maintenance ${outcome}: ${because}`);
  return { ...after, phase: 'ended', outcome: { node: data.node, outcome, because } };
}

const gone = (data: MaintenanceData): MaintenanceState => end(data, 'failed', `there is no node ${data.node}`);

function announced<Data extends MaintenanceData>(data: Data): Data {
  const { node, plan } = data;
  const message = `maintenance ${windowOf(plan)} planned by ${words(plan)}; its opted-in jobs are moved shortly before; kcover node maintain ${node} --cancel ends it`;
  return withEvent(data, 'Normal', 'maintenancePlanned', message, `/${plan.from}/${plan.until}`);
}

function lookedBefore(state: InPhase<MaintenanceState, 'planned'>, { view, at }: EventOf<'looked'>): MaintenanceState {
  const { lookAt: _, ...before } = state;
  if (!view) return gone(before);
  const seen = { ...before, uid: view.uid, jobs: view.jobs };
  const data = before.uid === undefined ? announced(seen) : seen;
  const { node, plan, held } = data;
  if (at >= plan.until)
    return end(data, 'failed', held === undefined ? 'its time is over' : `held until its end: ${held}`);
  const begin = plan.from - view.leadMs;
  if (at < begin) {
    const because = `planned by ${words(plan)}; the node is quarantined at ${iso(begin)}`;
    return { ...data, phase: 'planned', because, held: undefined, lookAt: begin };
  }
  if (view.hold === undefined)
    return { ...data, phase: 'quarantining', ordered: true, held: undefined, because: words(plan) };
  const because = `held: ${view.hold}; would quarantine ${node} for maintenance ${windowOf(plan)}`;
  const shown = held === view.hold ? data : withEvent(data, 'Warning', 'maintenanceHeld', because, `/${view.hold}`);
  return { ...shown, phase: 'planned', because, held: view.hold, lookAt: Math.min(at + view.askAgainMs, plan.until) };
}

function quarantined(
  data: InPhase<MaintenanceState, 'quarantining'>,
  { quarantine, at }: EventOf<'quarantined'>,
): MaintenanceState {
  const { ours, because: why } = quarantine;
  const because = ours ? `quarantined; its jobs are moved` : `it was quarantined already: ${why}; its jobs are moved`;
  const after = { ...data, quarantine, because };
  return after.cancelled ? returning(after) : { ...after, phase: 'moving', notified: false, lookAt: at };
}

function lookedAfter(state: InPhase<MaintenanceState, 'moving'>, { view, at }: EventOf<'looked'>): MaintenanceState {
  const { notified, lookAt: _, ...before } = state;
  if (!view) return gone(before);
  const { plan, node } = before;
  const data = { ...before, jobs: view.jobs };
  const left = view.jobs.slice(0, mostNamed).join(', ') + (view.jobs.length > mostNamed ? ', ...' : '');
  if (view.jobs.length > 0 && at < plan.from) {
    const because = `waits until these jobs have left: ${left}`;
    return { ...data, phase: 'moving', because, notified, lookAt: Math.min(at + view.lookAgainMs, plan.from) };
  }
  const isEmpty = view.jobs.length === 0;
  const because = isEmpty
    ? `no opted-in job has pods on ${node} any more; it is yours until ${iso(plan.until)}`
    : `its time has come, and these opted-in jobs still have pods on ${node}: ${left}`;
  const event = withEvent(data, isEmpty ? 'Normal' : 'Warning', 'maintenanceReady', because);
  return { ...event, phase: 'in-maintenance', because };
}

const returning = (data: MaintenanceData): MaintenanceState => ({
  ...data,
  phase: 'returning',
  because: data.cancelled ? `cancelled by ${words(data.cancelled)}` : 'its time is over',
});

function returned(data: InPhase<MaintenanceState, 'returning'>, { result }: EventOf<'returned'>): MaintenanceState {
  if (result.kind === 'kept') return end(data, 'kept', result.because);
  return end(data, data.cancelled ? 'cancelled' : 'returned', `${data.because}; ${result.because}`);
}

const sent = {
  to: [],
  next: <State extends MaintenanceState>(state: State): State => ({ ...state, outbox: state.outbox.slice(1) }),
};

/** A new window for a maintenance that runs: people are shown at once, where the node was read. */
const withPlan = <State extends MaintenanceState>(state: State, plan: MaintenancePlan): State => {
  const after = { ...state, plan };
  return after.uid === undefined ? after : announced(after);
};

export const maintenanceTransitions: Transitions<MaintenanceState, MaintenanceEvent> = {
  planned: {
    sent,
    looked: { to: ['quarantining', 'ended'], next: lookedBefore },
    stepFailed: { to: [], next: (state, { because, at }) => ({ ...state, because, lookAt: at + againMs }) },
    cancelRequested: {
      to: ['ended'],
      next(state, { request }) {
        const { lookAt: _, ...data } = state;
        return end(data, 'cancelled', words(request));
      },
    },
    replanned: { to: [], next: (state, { plan, at }) => ({ ...withPlan(state, plan), lookAt: at }) },
  },
  quarantining: {
    sent,
    quarantined: { to: ['moving', 'returning'], next: quarantined },
    // The order may have been taken: it is found again by its reason, or given once more.
    stepFailed: {
      to: ['planned', 'ended'],
      next: ({ cancelled, ...state }, { because, at }) =>
        cancelled
          ? end({ ...state, cancelled }, 'cancelled', words(cancelled))
          : { ...state, phase: 'planned', because, lookAt: at + againMs },
    },
    cancelRequested: { to: [], next: (state, { request }) => ({ ...state, cancelled: request }) },
    replanned: { to: [], next: (state, { plan }) => withPlan(state, plan) },
  },
  moving: {
    sent,
    looked: { to: ['in-maintenance', 'ended'], next: lookedAfter },
    jobsNotified: { to: [], next: (state) => ({ ...state, notified: true }) },
    stepFailed: { to: [], next: (state, { because, at }) => ({ ...state, because, lookAt: at + againMs }) },
    cancelRequested: {
      to: ['returning'],
      next(state, { request }) {
        const { notified: _, lookAt: __, ...data } = state;
        return returning({ ...data, cancelled: request });
      },
    },
    replanned: { to: [], next: (state, { plan, at }) => ({ ...withPlan(state, plan), lookAt: at }) },
  },
  'in-maintenance': {
    sent,
    windowEnded: { to: ['returning'], next: (state) => returning(state) },
    cancelRequested: { to: ['returning'], next: (state, { request }) => returning({ ...state, cancelled: request }) },
    replanned: { to: [], next: (state, { plan }) => withPlan(state, plan) },
  },
  returning: {
    sent,
    returned: { to: ['ended'], next: returned },
    stepFailed: {
      to: ['ended'],
      next: (state, { because }) => end(state, 'kept', `it could not be released: ${because}`),
    },
  },
  ended: { sent },
};
