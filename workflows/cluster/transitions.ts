/** What each event does to the state of a cluster. Pure. */

import type { ClusterSeen, StoredPause } from '../../contract/cluster.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { CommonTransitions, Transitions } from '../state-machine.ts';
import type { ClusterData, ClusterState } from './state.ts';
import { withRepairEnded, withReturned } from './storms.ts';

export type ClusterEvent =
  | { readonly kind: 'counted'; readonly seen: ClusterSeen }
  /** Reservations were granted: all that hold now. */
  | ({ readonly kind: 'reserved' } & Pick<ClusterData, 'reservations' | 'storms'>)
  /** A recovery asked for its wave. */
  | { readonly kind: 'waveJoined'; readonly waves: ClusterData['waves'] }
  /** Remedies may act: all that may now. */
  | { readonly kind: 'repairsPermitted'; readonly repairs: ClusterData['repairs'] }
  | {
      readonly kind: 'repairEnded';
      readonly remedy: string;
      readonly outcome?: string | undefined;
      readonly at: number;
    }
  | { readonly kind: 'returned'; readonly nodeUids: readonly unknown[]; readonly at: number }
  | { readonly kind: 'pauseRequested'; readonly request: OperatorRequest; readonly at: number }
  | { readonly kind: 'resumeRequested'; readonly request: OperatorRequest; readonly at: number }
  | { readonly kind: 'pauseStored'; readonly pause: StoredPause }
  | { readonly kind: 'pauseNotStored'; readonly pause: StoredPause; readonly because: string }
  | { readonly kind: 'waitRequested'; readonly workflowId: string }
  /** Those that wait are about to be notified. */
  | { readonly kind: 'notifying' };

/** A workflow beyond this bound is not notified: it asks again by itself. */
const mostWaiting = 1000;

const isBeingStored = 'it is being written';

/** In every phase. */
const always = {
  returned: {
    to: [],
    next: (state, { nodeUids, at }) => {
      const given = new Set(nodeUids);
      const kept = Object.entries(state.reservations).filter(([uid]) => !given.has(uid));
      const changed = state.changed || kept.length < Object.keys(state.reservations).length;
      const out = new Set(kept.map(([, { node }]) => node));
      const storms = withReturned(state.storms, out, at);
      return { ...state, reservations: Object.fromEntries(kept), storms, changed };
    },
  },
  repairEnded: {
    to: [],
    next: (state, { remedy, outcome, at }) => {
      const { [remedy]: ended, ...repairs } = state.repairs;
      if (!ended) return state;
      const storms = withRepairEnded(state.storms, ended.node, outcome, at);
      return { ...state, repairs, storms, changed: true };
    },
  },
  waveJoined: { to: [], next: (state, { waves }) => ({ ...state, waves }) },
  waitRequested: {
    to: [],
    next: (state, { workflowId }) =>
      state.waiting.includes(workflowId) || state.waiting.length >= mostWaiting
        ? state
        : { ...state, waiting: [...state.waiting, workflowId] },
  },
  pauseStored: {
    to: [],
    next: (state, { pause }) => (isSame(state.unstored?.pause, pause) ? { ...state, unstored: undefined } : state),
  },
  pauseNotStored: {
    to: [],
    next: (state, { pause, because }) =>
      isSame(state.unstored?.pause, pause) ? { ...state, unstored: { pause, because } } : state,
  },
} satisfies CommonTransitions<ClusterState, ClusterEvent>;

/** As soon as the nodes are counted. */
const counted = {
  ...always,
  reserved: { to: [], next: (state, { reservations, storms }) => ({ ...state, reservations, storms }) },
  repairsPermitted: { to: [], next: (state, { repairs }) => ({ ...state, repairs }) },
  notifying: { to: [], next: (state) => ({ ...state, waiting: [], changed: false }) },
  pauseRequested: {
    to: ['paused'],
    next: (state, { request, at }) => ({ ...withPause(state, request, at), phase: 'paused' }),
  },
  resumeRequested: {
    to: ['open'],
    next: (state, { request, at }) => ({ ...withoutPause(state, request, at), phase: 'open' }),
  },
  // Writes that were under way at the first count. The pause of this run is newer than the stored one.
  counted: {
    to: [],
    next: (state, { seen }) => ({ ...withSeen(state, seen), changed: true, recountAt: undefined }),
  },
} satisfies CommonTransitions<ClusterState, ClusterEvent>;

export const clusterTransitions: Transitions<ClusterState, ClusterEvent> = {
  counting: {
    ...always,
    counted: { to: ['open', 'paused'], next: firstCount },
    // It holds at once. What may be reserved is not known before the count.
    pauseRequested: {
      to: [],
      next: (state, { request, at }) => ({ ...withPause(state, request, at), phase: 'counting' }),
    },
  },
  open: counted,
  paused: counted,
};

/** Adds what was there before this run. What this run recorded itself is newer. */
function firstCount(state: ClusterState, { seen }: { readonly seen: ClusterSeen }): ClusterState {
  const stored =
    seen.pause?.state === 'paused' ? { by: seen.pause.by, reason: seen.pause.reason, since: seen.pause.at } : undefined;
  const paused = state.pauseKnown ? state.paused : stored;
  const data = { ...withSeen(state, seen), pauseKnown: true, changed: true };
  return paused ? { ...data, phase: 'paused', paused } : { ...data, phase: 'open' };
}

const withSeen = <Data extends ClusterData>(data: Data, { out, repairs = [] }: ClusterSeen): Data => ({
  ...data,
  reservations: { ...Object.fromEntries(out.map((one) => [one.nodeUid, one])), ...data.reservations },
  repairs: { ...Object.fromEntries(repairs.map((one) => [one.remedy, one])), ...data.repairs },
});

function withPause(state: ClusterState, { by, reason }: OperatorRequest, at: number) {
  const unstored = { pause: { state: 'paused', by, reason, at } as const, because: isBeingStored };
  return { ...state, paused: { by, reason, since: at }, pauseKnown: true, unstored };
}

function withoutPause(state: ClusterState, { by, reason }: OperatorRequest, at: number) {
  const unstored = { pause: { state: 'open', by, reason, at } as const, because: isBeingStored };
  return { ...state, paused: undefined, changed: true, unstored };
}

const isSame = (a: StoredPause | undefined, b: StoredPause): boolean =>
  a?.at === b.at && a.state === b.state && a.by === b.by && a.reason === b.reason;
