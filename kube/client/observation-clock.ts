/**
 * A clock that stops while the cluster cannot be observed, so that a deadline passes only in time in which it could be seen to be met.
 * Heartbeats hold the lost time, so that a later attempt of the same activity continues with it.
 */

/** Most time that it is stopped in total, ms. After that it always runs, so that every deadline passes. */
const mostLostMs = 24 * 3_600_000;

/** An outage of this length may have stopped the cluster itself from making progress, ms. */
const longMs = 10_000;

/** After such an outage no deadline passes for this time, ms: pods may have begun to terminate only when the API server was back. */
const graceMs = 60_000;

/** State for a later attempt. Times are milliseconds since the epoch. */
export interface Observed {
  /** Lost in outages that are over, ms. */
  readonly lostMs: number;
  /** Until when the cluster was observed. */
  readonly until: number;
  /** No deadline passes before this time, by this clock; 0 without a long outage. */
  readonly lateFrom: number;
}

export interface ObservationClock {
  /** Milliseconds since the epoch, minus the lost time. */
  time(): number;
  /** No deadline passes before this time, by this clock. */
  readonly lateFrom: number;
  readonly isRunning: boolean;
  lost(): void;
  regained(): void;
  observed(): Observed;
}

/** A clock that begins at `startedAt`, or continues from an earlier attempt. It is stopped until the cluster is observed. */
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

/** The clock state of an earlier attempt, if its heartbeats arrived. */
export function observedOf(details: unknown): Observed | undefined {
  const { clock } = (typeof details === 'object' && details !== null ? details : {}) as {
    readonly clock?: Partial<Observed>;
  };
  const { lostMs, until, lateFrom } = clock ?? {};
  return typeof lostMs === 'number' && typeof until === 'number' && typeof lateFrom === 'number'
    ? { lostMs, until, lateFrom }
    : undefined;
}
