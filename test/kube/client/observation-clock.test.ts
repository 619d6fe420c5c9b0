import { describe, expect, it } from '@jest/globals';
import {
  type Observed,
  type ObservationClock,
  observationClock,
  observedOf,
} from '../../../kube/client/observation-clock.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const start = Date.parse('2026-11-21T07:00:00Z');

/** A wait that begins at `start`, with simulated time. */
class Wait {
  now = start;
  clock: ObservationClock;

  constructor() {
    this.clock = observationClock(() => this.now, start);
    this.clock.regained();
  }

  passes(ms: number): this {
    this.now += ms;
    return this;
  }

  outage(ms: number): this {
    this.clock.lost();
    this.passes(ms);
    this.clock.regained();
    return this;
  }

  /** Another worker continues after this time, with the state of the heartbeats. */
  dies(ms: number, recorded: Observed = this.clock.observed()): this {
    const details: unknown = JSON.parse(JSON.stringify({ clock: recorded }));
    this.passes(ms);
    this.clock = observationClock(() => this.now, start, observedOf(details));
    this.clock.regained();
    return this;
  }

  isLate = (deadlineMs: number): boolean => this.clock.time() >= Math.max(start + deadlineMs, this.clock.lateFrom);
}

describe('a deadline', () => {
  it('passes in time when everything can be observed', () => {
    const wait = new Wait();
    expect(wait.passes(minute - 1).isLate(minute)).toBe(false);
    expect(wait.passes(1).isLate(minute)).toBe(true);
  });

  it('is extended by the length of an outage and, once, by the time that a cluster needs to recover after a long one', () => {
    const wait = new Wait().passes(10 * second).outage(5 * minute);
    expect(wait.passes(60 * second - 1).isLate(minute)).toBe(false);
    expect(wait.passes(1).isLate(minute)).toBe(true);

    const again = new Wait()
      .outage(5 * minute)
      .passes(2 * minute)
      .outage(5 * minute);
    expect(again.passes(minute - 1).isLate(3 * minute)).toBe(false);
    expect(again.passes(1).isLate(3 * minute)).toBe(true);
  });

  it('passes although the watch is cut every second', () => {
    const wait = new Wait();
    let cuts = 0;
    while (!wait.isLate(15 * minute)) {
      wait.passes(second).outage(100);
      cuts += 1;
    }
    expect(cuts).toBe(15 * 60);
  });

  it('passes although its worker is killed every twenty seconds, ten seconds after its last heartbeat', () => {
    const wait = new Wait();
    let deaths = 0;
    while (!wait.isLate(15 * minute)) {
      const recorded = wait.passes(10 * second).clock.observed();
      wait.passes(10 * second).dies(20 * second, recorded);
      deaths += 1;
    }
    expect(deaths).toBe(90);
  });

  it('does not pass while nothing can be observed, and passes after a day of that altogether', () => {
    const wait = new Wait();
    wait.clock.lost();
    expect(wait.passes(23 * hour).isLate(minute)).toBe(false);
    expect(wait.clock.isRunning).toBe(false);
    wait.clock.regained();
    wait.clock.lost();
    expect(wait.passes(hour).isLate(hour)).toBe(false);
    expect(wait.clock.isRunning).toBe(true);
    expect(wait.passes(hour).isLate(hour)).toBe(true);
  });

  it('is not put off by a worker whose clock is behind that of the worker before', () => {
    const wait = new Wait().passes(30 * second).dies(-5 * second);
    expect(wait.passes(34 * second).isLate(minute)).toBe(false);
    expect(wait.passes(second).isLate(minute)).toBe(true);
  });
});

describe('the clock state of an earlier attempt', () => {
  it.each([undefined, null, 'x', {}, { clock: {} }, { clock: { lostMs: '1', until: 2, lateFrom: 3 } }])(
    'is ignored when it is %j',
    (details) => {
      expect(observedOf(details)).toBeUndefined();
    },
  );
});
