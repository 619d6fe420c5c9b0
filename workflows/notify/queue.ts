/** What waits to be sent to one receiver. Pure. */

import type { NotifyPayload } from '../../contract/notify/payload.ts';

/** Plain JSON: a new run goes on with it. */
export interface NotifyState {
  readonly route: string;
  /** Oldest first. */
  readonly waiting: readonly NotifyPayload[];
  /** Older ones that did not fit. */
  readonly more: number;
  /** Ids that arrived, the newest last: an Event may be written twice. */
  readonly known: readonly string[];
  readonly delivered: number;
  readonly failed: number;
  readonly because?: string | undefined;
}

/** Bounds. More than `single` are sent as one. */
const most = { waiting: 50, known: 500, single: 3 } as const;

export const firstState = (route: string): NotifyState => ({
  route,
  waiting: [],
  more: 0,
  known: [],
  delivered: 0,
  failed: 0,
});

export function withArrival(state: NotifyState, arrived: NotifyPayload): NotifyState {
  const { id } = arrived.notification;
  if (state.known.includes(id)) return state;
  const all = [...state.waiting, arrived];
  const waiting = all.slice(-most.waiting);
  return {
    ...state,
    waiting,
    more: state.more + all.length - waiting.length,
    known: [...state.known, id].slice(-most.known),
  };
}

/** What is sent next, and what waits meanwhile. */
export function nextBatch(state: NotifyState): {
  readonly batch: readonly NotifyPayload[];
  readonly more: number;
  readonly rest: NotifyState;
} {
  const { waiting, more } = state;
  const count = more > 0 || waiting.length > most.single ? waiting.length : 1;
  return {
    batch: waiting.slice(0, count),
    more: count === 1 ? 0 : more,
    rest: { ...state, waiting: waiting.slice(count), ...(count > 1 && { more: 0 }) },
  };
}

/** `because`: why it was given up. */
export const withResult = (state: NotifyState, count: number, because?: string): NotifyState =>
  because === undefined
    ? { ...state, delivered: state.delivered + count }
    : { ...state, failed: state.failed + count, because };
