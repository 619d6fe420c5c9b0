/** Events for the state machine of a preflight: what controllers send, what effects answer, twice and too late too. */

import * as fc from 'fast-check';
import type { ObservedWorkload } from '../../contract/wire/activities.ts';
import type { CollectedReport } from '../../contract/preflight/preflight.ts';
import { decidePreflight } from '../../policy/preflight/preflight.ts';
import { type PreflightState, timersOf } from '../../workflows/preflight/state.ts';
import type { Answer, PreflightEvent } from '../../workflows/preflight/transitions.ts';
import { settings } from '../support/builders.ts';
import { podOf, reportOf, workload } from '../support/preflight-reports.ts';

type Step = (state: PreflightState, at: number) => PreflightEvent;

const acting = settings({ mode: 'act' });

/** Ranks of a set of pods. */
const size = 4;

export const gone: ObservedWorkload = { kind: 'gone', because: 'the job object is gone' };
const there: ObservedWorkload = { kind: 'there', optedIn: true };

/** Mostly of the same set. */
const attempt = fc.constantFrom(1, 1, 1, 2, 3);

/** Reports of three sets of pods; some of them are written again, say another size, or come from a pod that holds a part of its node. */
const report = fc
  .record({
    rank: fc.constantFrom(0, 1, 2, 2, 3),
    attempt,
    broken: fc.boolean(),
    again: fc.boolean(),
    part: fc.nat({ max: 3 }).map((n) => n === 0),
    other: fc.nat({ max: 9 }).map((n) => n === 0),
  })
  .map(({ rank, broken, again, part, other, ...set }): CollectedReport => {
    const one = reportOf({ size: other ? size + 2 : size, ...set, slow: [1], broken: broken ? [2] : [] }, rank);
    return {
      ...one,
      ...(part && { share: { asked: 1, of: 8 } }),
      ...(again && { writtenAt: `2026-11-21T09:00:0${set.attempt}Z` }),
    };
  });

const wholeSet = fc
  .record({
    attempt,
    slow: fc.subarray([1, 3]),
    broken: fc.subarray([2]),
    ranks: fc.integer({ min: size - 1, max: size }),
  })
  .map(({ ranks, ...truth }) => Array.from({ length: ranks }, (_, rank) => reportOf({ size, ...truth }, rank)));

const someReports = fc.array(report, { minLength: 1, maxLength: 2 });

const arrivals: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.oneof(someReports, someReports, wholeSet).map((reports): Step => (_, at) => ({
      kind: 'reportsArrived',
      reports,
      refused: [],
      dropped: 0,
      at,
    })),
    weight: 4,
  },
  fc.record({ rank: fc.nat({ max: size - 1 }), attempt }).map(({ rank, attempt: of }): Step => (_, at) => ({
    kind: 'podsTesting',
    pod: podOf(rank, of),
    at,
  })),
  fc.constant<Step>((_, at) => ({ kind: 'podsGone', at })),
  fc.record({ index: fc.nat({ max: 2 }), late: fc.boolean() }).map(({ index, late }): Step => (state, at) => {
    const running = timersOf(state);
    const { name = 'deadline', timer } = running[index % Math.max(1, running.length)] ?? {};
    return { kind: 'timerFired', timer: name, id: timer && !late ? timer.id : -1, at };
  }),
);

export interface Luck {
  readonly seen: ObservedWorkload | undefined;
  /** How many of the nodes can be notified. */
  readonly accepted: number;
}

/** What the effect of the phase answers. */
export function answerIn(state: PreflightState, { seen, accepted }: Luck, at: number): Answer {
  switch (state.phase) {
    case 'opening':
      return { kind: 'deadlinesDecided', inactivityMs: 1000, deadlineMs: 5000 };
    case 'observing':
      return { kind: 'workloadObserved', seen };
    case 'judging': {
      const { open, evidence } = state;
      const request = { workload, ...open, evidence: evidence === 'superseded' ? ('expired' as const) : evidence };
      const decision = decidePreflight(request, acting);
      // One at a time, where a decision lists a hundred.
      const faults = decision.faults.slice(0, 1);
      return {
        kind: 'verdictDecided',
        decision: { ...decision, faults, left: decision.faults.length - faults.length, settings: '', at },
      };
    }
    case 'notifying':
      return {
        kind: 'nodesNotified',
        accepted: state.pending.slice(0, accepted).map(({ id }) => id),
        because: 'the namespace is full',
      };
    case 'closing':
      return { kind: 'jobObserved', seen };
    case 'reporting':
      return { kind: 'reported' };
    default:
      return { kind: 'changesSeen' };
  }
}

const luck = fc.record({ seen: fc.constantFrom(gone, there, undefined), accepted: fc.nat({ max: 2 }) });

/** Mostly in time. A late answer belongs to the effect before. */
const answers: fc.Arbitrary<Step> = fc
  .record({ luck, late: fc.nat({ max: 5 }).map((n) => n === 0) })
  .map(({ luck: lucky, late }): Step => (state, at) => ({
    ...answerIn(state, lucky, at),
    effect: state.effect - (late ? 1 : 0),
    at,
  }));

export const events = fc.array(fc.oneof({ arbitrary: arrivals, weight: 2 }, { arbitrary: answers, weight: 3 }), {
  maxLength: 40,
  size: 'max',
});
