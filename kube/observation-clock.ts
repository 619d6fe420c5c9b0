/**
 * A clock that stands still while the cluster cannot be observed: a deadline passes only in time in which it could be seen to be met.
 * What it lost is told in heartbeats, so that a later try of the same activity goes on with it and does not begin anew.
 */

/** It stands still for so long altogether, then it runs on whatever can be observed: every deadline passes. ms */
const mostLostMs = 24 * 3_600_000;

/** An outage of this length may have kept the cluster itself from going on, ms. */
const longMs = 10_000;

/** After the first such outage nothing is late before so much time: pods may have begun to go only when the API server was back. ms */
const graceMs = 60_000;

/** What a later try must know. Times are milliseconds since the epoch. */
export interface Observed {
  /** Lost in outages that are over, ms. */
  readonly lostMs: number;
  /** Until when the cluster was observed. */
  readonly until: number;
  /** Nothing is late before, by this clock; 0 as long as there was no long outage. */
  readonly lateFrom: number;
}

export interface ObservationClock {
  /** Milliseconds since the epoch, less what was lost. */
  time(): number;
  /** Nothing is late before, by this clock. */
  readonly lateFrom: number;
  readonly isRunning: boolean;
  lost(): void;
  regained(): void;
  observed(): Observed;
}

/** A clock that begins at `startedAt`, or goes on with what an earlier try told. It stands still until the cluster is observed. */
export function observationClock(now: () => number, startedAt: number, earlier?: Observed): ObservationClock {
  let { lostMs, until, lateFrom } = earlier ?? { lostMs: 0, until: startedAt, lateFrom: 0 };
  let isRunning = false;
  // Workers may have clocks that differ.
  const sinceLost = () => (isRunning ? 0 : Math.max(0, now() - until));
  const lostUntilNow = () => Math.min(mostLostMs, lostMs + sinceLost());
  const time = () => now() - lostUntilNow();
  return {
    time,
    get lateFrom() {
      return lateFrom;
    },
    get isRunning() {
      return isRunning || lostUntilNow() === mostLostMs;
    },
    lost() {
      if (isRunning) until = now();
      isRunning = false;
    },
    regained() {
      const wasLong = sinceLost() >= longMs;
      lostMs = lostUntilNow();
      isRunning = true;
      if (wasLong && lateFrom === 0) lateFrom = time() + graceMs;
    },
    observed: () => ({ lostMs, until: isRunning ? now() : until, lateFrom }),
  };
}

/** What an earlier try told of its clock, if its heartbeats arrived. */
export function observedOf(details: unknown): Observed | undefined {
  const { clock } = (typeof details === 'object' && details !== null ? details : {}) as { readonly clock?: Partial<Observed> };
  const { lostMs, until, lateFrom } = clock ?? {};
  return typeof lostMs === 'number' && typeof until === 'number' && typeof lateFrom === 'number' ? { lostMs, until, lateFrom } : undefined;
}
