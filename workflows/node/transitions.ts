/** What each event does to the state of a node. Pure. */

import type { CommonTransitions, Transition, Transitions } from '../state-machine.ts';
import type { NodeEvent } from './events.ts';
import { observed } from './observed.ts';
import { decided, noLongerWanted, quarantined, refused } from './quarantine.ts';
import { withoutRemedy, withProgress } from './remedy.ts';
import { eventsWritten, goesOn, released, releaseFailed, reported, successorObserved } from './release.ts';
import {
  atRest,
  deadlineOf,
  mayRelease,
  type NodeData,
  type NodeState,
  pendingWork,
  reserving,
  withArrivals,
  withMessages,
} from './state.ts';

/** In every phase. What arrives waits until the node is at rest. */
const always = {
  faultsObserved: { to: [], next: (state, { faults, dropped }) => withArrivals(state, faults, dropped) },
  nodeObserved: { to: [], next: (state) => ({ ...state, stale: true }) },
  recheckRequested: { to: [], next: (state) => (state.held ? { ...state, recheck: true } : state) },
  remedyProgressed: { to: [], next: (state, { progress }) => withProgress(state, progress) },
  quarantineRequested: { to: [], next: (state, { request }) => ({ ...state, requested: request }) },
  // A release that failed is tried at once when a person asks again.
  releaseRequested: { to: [], next: (state, { request }) => ({ ...state, release: request, releaseAt: undefined }) },
  sent: { to: [], next: (state) => ({ ...state, outbox: state.outbox.slice(1) }) },
} satisfies CommonTransitions<NodeState, NodeEvent>;

const toObserve = { to: ['observing'], next: observing } satisfies Transition<NodeState, NodeState, unknown>;

const toRelease = { to: ['releasing'], next: releasing } satisfies Transition<NodeState, NodeState, unknown>;

/** Whatever the node waits for. */
const resting = {
  ...always,
  runContinued: toObserve,
  lookBegun: toObserve,
  decisionBegun: { to: ['deciding'], next: deciding },
} satisfies CommonTransitions<NodeState, NodeEvent>;

export const nodeTransitions: Transitions<NodeState, NodeEvent> = {
  observing: {
    ...always,
    observed: {
      to: ['watching', 'awaiting-reservation', 'quarantined', 'reserving', 'releasing', 'closing', 'ended'],
      next: observed,
    },
  },
  watching: {
    ...resting,
    deadlinePassed: {
      to: ['closing'],
      next: (state, { deadline }) =>
        isDue(state, deadline)
          ? { ...state, phase: 'closing', outcome: { node: state.node, outcome: 'quiet', because: 'no further fault' } }
          : state,
    },
  },
  deciding: {
    ...always,
    decided: { to: ['watching', 'awaiting-reservation', 'quarantined', 'reserving'], next: decided },
  },
  reserving: {
    ...always,
    reserved: {
      to: ['quarantining'],
      next: (state, { incident, storm }) => ({
        ...state,
        phase: 'quarantining',
        held: { ...state.held, incident, storm, reserved: true },
      }),
    },
    refused: {
      to: ['awaiting-reservation'],
      next: (state, { because, storm }) => atRest(refused({ ...state, held: { ...state.held, storm } }, because)),
    },
    noLongerWanted: { to: ['watching'], next: noLongerWanted },
  },
  quarantining: {
    ...always,
    quarantineWritten: {
      to: ['quarantined'],
      next: ({ afterwards, ...data }, { taint, at }) =>
        atRest(withMessages(quarantined(data, data.held, taint, at), ...afterwards)),
    },
    // The node was replaced, the write was rejected for good, or it took too long: the next look reads what is on the node. No storm explains that.
    quarantineNotWritten: {
      to: ['observing'],
      next: ({ held, ...data }, { because }) =>
        observing(
          refused({ ...data, held: { ...held, storm: undefined } }, `the quarantine could not be written: ${because}`),
        ),
    },
  },
  'awaiting-reservation': {
    ...resting,
    releaseBegun: toRelease,
    reservationBegun: { to: ['reserving'], next: (state, { at }) => reserving(state, state.held, at) },
    deadlinePassed: {
      to: ['reserving', 'releasing'],
      next: (state, { deadline, at }) => {
        if (!isDue(state, deadline)) return state;
        return state.releaseAt === undefined
          ? reserving(state, state.held, at)
          : releasing({ ...state, releaseAt: undefined });
      },
    },
  },
  quarantined: {
    ...resting,
    releaseBegun: toRelease,
    deadlinePassed: {
      to: ['releasing'],
      next: (state, { deadline }) => (isDue(state, deadline) ? releasing({ ...state, releaseAt: undefined }) : state),
    },
  },
  releasing: {
    ...always,
    released: { to: ['closing'], next: released },
    releaseFailed: { to: ['awaiting-reservation', 'quarantined'], next: releaseFailed },
    releaseFoundNoNode: {
      to: ['observing'],
      next: (state) => {
        const { request: _, ...data } = state;
        return observing(data);
      },
    },
  },
  closing: {
    ...always,
    sent: { to: [], next: reported },
    decisionBegun: {
      to: ['deciding'],
      next: ({ outcome, ...data }) => (goesOn(data, outcome) ? deciding(data) : { ...data, outcome }),
    },
    eventsWritten: { to: ['watching', 'ended'], next: eventsWritten },
    successorObserved: { to: ['watching', 'ended'], next: successorObserved },
  },
  ended: {},
};

/** What arrived in the same moment comes first: another try of a release may take its time. */
const isDue = (state: NodeState, deadline: number): boolean =>
  deadline === deadlineOf(state) && pendingWork(state) === undefined;

function observing(data: NodeData): NodeState {
  return { ...data, phase: 'observing', stale: false };
}

function deciding({ inbox, requested, ...data }: NodeData): NodeState {
  return { ...data, phase: 'deciding', inbox: [], batch: { faults: inbox, request: requested } };
}

function releasing(data: NodeData): NodeState {
  const { release } = data;
  return release && mayRelease(data)
    ? {
        ...withoutRemedy(data, `released by ${release.by}: ${release.reason}`),
        phase: 'releasing',
        request: release,
        because: `${release.by}: ${release.reason}`,
      }
    : atRest(data);
}
