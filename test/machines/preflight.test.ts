import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { firstState, openOf, type PreflightState } from '../../workflows/preflight/state.ts';
import { type PreflightEvent, preflightTransitions } from '../../workflows/preflight/transitions.ts';
import { edgesOf, nextState, type Transition } from '../../workflows/state-machine.ts';
import { findViolation } from '../support/machine-properties.ts';
import { reportsOf } from '../support/preflight-reports.ts';
import { answerIn, events, gone } from './preflight-events.ts';
import { type broken, property, reportsIn, type Step } from './preflight-invariants.ts';

type Table = typeof preflightTransitions;

const all = property();
type Change<Event> = (
  next: (changed: PreflightState, instead?: Event) => PreflightState,
  state: PreflightState,
  event: Event,
) => PreflightState;
type OfKind<Kind> = Extract<PreflightEvent, { readonly kind: Kind }>;

/** The table with one transition changed: a deliberate defect, which the properties must find. Late answers still change nothing. */
function withDefect<Kind extends PreflightEvent['kind']>(
  phase: PreflightState['phase'],
  kind: Kind,
  change: Change<OfKind<Kind>>,
): Table {
  const { next, to } = preflightTransitions[phase as 'waiting'][kind as 'changesSeen'] as Transition<
    PreflightState,
    PreflightState,
    PreflightEvent
  >;
  const defect = (state: PreflightState, event: PreflightEvent) =>
    'effect' in event && event.effect !== state.effect
      ? state
      : change((changed, instead = event as OfKind<Kind>) => next(changed, instead), state, event as OfKind<Kind>);
  return {
    ...preflightTransitions,
    [phase]: { ...preflightTransitions[phase], [kind]: { to: [...to, 'waiting', 'judging'], next: defect } },
  };
}

const withOpen = (state: PreflightState, change: object): PreflightState =>
  'open' in state && state.open ? ({ ...state, open: { ...state.open, ...change } } as PreflightState) : state;

const defects: readonly (readonly [string, Table, keyof typeof broken])[] = [
  [
    'forgets which set of pods is testing',
    withDefect('collecting', 'changesSeen', (next, state) => {
      const after = next({ ...state, testing: undefined });
      return { ...after, testing: after.testing ?? state.testing };
    }),
    'a run holds reports of a set before the one that is testing',
  ],
  [
    'adds reports without a look at their ranks',
    withDefect('collecting', 'reportsArrived', (next, state, { reports }) =>
      withOpen(next(state), { reports: [...reportsIn(state), ...reports] }),
    ),
    'a rank counts twice, or for two pods, in one run',
  ],
  [
    'forgets what was judged',
    withDefect('reporting', 'reported', (next, state) => next({ ...state, counted: [] })),
    'a report is judged in two runs',
  ],
  [
    'gives up a run when its time is over',
    withDefect('collecting', 'changesSeen', (next, state) => {
      const after = next(state);
      if (after.phase !== 'judging' || after.evidence !== 'expired') return after;
      const { open: _, evidence: _evidence, ...rest } = after;
      return { ...rest, phase: 'waiting', idle: { id: rest.effect, at: 0, fired: false } };
    }),
    'a run ends without its verdict',
  ],
  [
    'reports a verdict again',
    withDefect('reporting', 'reported', (next, state) =>
      state.effect % 2 === 0 ? { ...state, effect: state.effect + 1 } : next(state),
    ),
    'a verdict is not reported once',
  ],
  [
    'takes a part for the whole',
    withDefect('collecting', 'changesSeen', (next, state) => {
      const after = next(state);
      return after.phase === 'judging' && after.evidence === 'part' ? { ...after, evidence: 'complete' } : after;
    }),
    'a run is complete although ranks are missing',
  ],
  [
    'ends a run when its pods are gone, without a look at the workload',
    withDefect('collecting', 'changesSeen', (next, state) => {
      const after = next(state);
      if (after.phase !== 'observing' || !after.open) return after;
      return { ...after, phase: 'judging', open: after.open, evidence: 'expired' };
    }),
    'a run ends before its time',
  ],
  [
    'forgets which nodes were notified',
    withDefect('notifying', 'nodesNotified', (next, state) => {
      const after = next(state);
      return after.phase === 'reporting' ? withOpen(after, { notified: [] }) : after;
    }),
    'a node is notified twice',
  ],
  [
    'takes a refused node for a notified one',
    withDefect('notifying', 'nodesNotified', (next, state, event) =>
      next(state, { ...event, accepted: state.phase === 'notifying' ? state.pending.map(({ id }) => id) : [] }),
    ),
    'a node was neither notified nor named as not notified',
  ],
  [
    'forgets which ranks a partial verdict saw',
    withDefect('judging', 'verdictDecided', (next, state) => withOpen(next(state), { looked: [] })),
    'the same part is judged again',
  ],
  [
    'takes every report for activity',
    withDefect('collecting', 'changesSeen', (next, state) => withOpen(next(state), { lastAt: state.effect * 10_000 })),
    'a rank that writes again keeps its run open',
  ],
  [
    'drops what arrives while it judges',
    withDefect('judging', 'reportsArrived', (_next, state) => state),
    'an arrival is lost',
  ],
  ['drops that its pods are gone', withDefect('closing', 'podsGone', (_next, state) => state), 'an arrival is lost'],
  [
    'waits without a look at what arrived meanwhile',
    withDefect('opening', 'deadlinesDecided', (next, state) => ({
      ...next({ ...state, inbox: [] }),
      inbox: state.inbox,
    })),
    'something that arrived waits for nothing',
  ],
  [
    'sets no deadline',
    withDefect('opening', 'deadlinesDecided', (next, state) => {
      const after = next(state);
      return withOpen(after, { deadlines: { ...openOf(after)?.deadlines, deadline: { id: 0, at: 0, fired: true } } });
    }),
    'a wait has no deadline',
  ],
  [
    'waits without a timer',
    withDefect('reporting', 'reported', (next, state) => ({ ...next(state), idle: undefined })),
    'a wait has no deadline',
  ],
  [
    'takes a workload that could not be observed for one that is gone',
    withDefect('observing', 'workloadObserved', (next, state, { seen }) =>
      seen ? next(state) : { ...next(state), phase: 'ended', over: { kind: 'gone', because: '' } },
    ),
    'it ends although the workload was not seen to be over',
  ],
  [
    'counts an answer that came twice',
    {
      ...preflightTransitions,
      reporting: {
        ...preflightTransitions.reporting,
        reported: {
          to: ['waiting', 'observing', 'opening', 'collecting', 'judging', 'ended'],
          next: (state, event) => nextState(preflightTransitions, state, { ...event, effect: state.effect }),
        },
      },
    },
    'an answer that came twice or too late changes something',
  ],
  [
    'shows a new time with every answer',
    withDefect('collecting', 'changesSeen', (next, state, { at }) => ({ ...next(state), since: at })),
    'people see another time although they see the same phase',
  ],
  [
    'keeps the reports of a run that is over',
    withDefect('reporting', 'reported', (next, state) => {
      const after = next(state);
      return after.phase === 'waiting' ? ({ ...after, judged: reportsOf({ size: 2 }) } as PreflightState) : after;
    }),
    'reports would continue as new',
  ],
];

/** Broken invariants until it ends, when the workload is gone and no node can be notified. */
function howItEnds(table: Table, before: PreflightState, played: readonly Step[]): readonly string[] {
  const steps = [...played];
  let state = before;
  const play = (event: PreflightEvent) => {
    const after = nextState(table, state, event);
    const step = { before: state, event, after };
    const found = all.violations(step, steps);
    steps.push(step);
    state = after;
    return found;
  };
  play({ kind: 'podsGone', at: 100 });
  for (let answers = 0; answers < 200; answers++) {
    if (state.phase === 'ended') return [];
    const found = play({ ...answerIn(state, { seen: gone, accepted: 0 }, 100), effect: state.effect, at: 100 });
    if (found.length > 0) return found;
  }
  return [`it does not end, and is ${state.phase}`];
}

/** Broken invariants at the end of the first run of events that breaks some. */
function findBadEnd(table: Table): string | undefined {
  const ends = fc.property(events, (made) => {
    const steps: Step[] = [];
    let state = firstState(0);
    for (const [at, make] of made.entries()) {
      const event = make(state, at);
      const after = nextState(table, state, event);
      steps.push({ before: state, event, after });
      state = after;
    }
    const found = howItEnds(table, state, steps);
    if (found.length > 0) throw new Error(found.join('; '));
  });
  const { failed, errorInstance } = fc.check(ends, { numRuns: 200 });
  return failed && errorInstance instanceof Error ? errorInstance.message : undefined;
}

describe('the machine of a preflight', () => {
  it('keeps its invariants in any order of events, in every transition that its table names', () => {
    const seen = new Set<string>();
    const violations = (step: Step, earlier: readonly Step[]) => {
      seen.add(`${step.before.phase} ${step.after.phase}`);
      return all.violations(step, earlier);
    };
    expect(findViolation(preflightTransitions, { ...all, violations })).toBeUndefined();
    expect(edgesOf(preflightTransitions).filter(({ from, to }) => !seen.has(`${from} ${to}`))).toEqual([]);
  });

  it('ends when its workload is gone, whatever came before and although no node can be notified', () => {
    expect(findBadEnd(preflightTransitions)).toBeUndefined();
  });

  it.each(defects)('is found to break them when it %s', (_defect, table, what) => {
    expect(findViolation(table, property([what]))).toContain(what);
  });

  it.each<[string, Table, RegExp]>([
    [
      'tries to notify a node for ever',
      withDefect('notifying', 'nodesNotified', (next, state) =>
        next(state.phase === 'notifying' ? { ...state, tries: 1 } : state),
      ),
      /does not end/,
    ],
    [
      'gives up a node without saying so',
      withDefect('notifying', 'nodesNotified', (next, state) => withOpen(next(state), { unnotified: [] })),
      /neither notified nor named/,
    ],
    [
      'forgets that the workload is gone',
      withDefect('reporting', 'reported', (next, state) => next({ ...state, over: undefined } as PreflightState)),
      /does not end/,
    ],
  ])('is found not to end well when it %s', (_defect, table, message) => {
    expect(findBadEnd(table)).toMatch(message);
  });
});
