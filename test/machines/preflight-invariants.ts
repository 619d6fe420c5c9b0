/** What must hold in every state of a preflight. */

import type { CollectedReport } from '../../contract/preflight/preflight.ts';
import {
  canContinueAsNew,
  firstState,
  isOlder,
  openOf,
  type PreflightState,
  shownPhase,
  timersOf,
} from '../../workflows/preflight/state.ts';
import type { PreflightEvent } from '../../workflows/preflight/transitions.ts';
import type { MachineProperty, Played } from '../support/machine-properties.ts';
import { events } from './preflight-events.ts';

export type Step = Played<PreflightState, PreflightEvent>;
type Invariant = (step: Step, earlier: readonly Step[]) => boolean;

const idOf = ({ pod, writtenAt }: CollectedReport): string => `${pod.uid} ${writtenAt}`;
export const reportsIn = (state: PreflightState): readonly CollectedReport[] => openOf(state)?.reports ?? [];
const closes = ({ before, after }: Step): boolean => before.last?.run !== after.last?.run;
const isAnswer = ({ before, after }: Step): boolean => after.effect > before.effect;
const judgesPart = ({ after }: Step) =>
  after.phase === 'judging' && after.evidence === 'part' && !after.first ? after.open : undefined;

/** Reports of which the last run that is over consisted, without those that moved to the next. */
function judgedLast(steps: readonly Step[]): readonly string[] {
  const end = steps.findLast(closes);
  const moved = end && reportsIn(end.after).map(idOf);
  return end ? reportsIn(end.before).flatMap((one) => (moved?.includes(idOf(one)) ? [] : [idOf(one)])) : [];
}

/** Nodes whose faults were accepted; of one run, or of all. */
const acceptedIn = (steps: readonly Step[], run?: number): readonly string[] =>
  steps.flatMap(({ before, event }) => {
    if (before.phase !== 'notifying' || event.kind !== 'nodesNotified' || event.effect !== before.effect) return [];
    if (run !== undefined && before.open.run !== run) return [];
    return before.pending.flatMap(({ id, node }) => (event.accepted.includes(id) && node !== undefined ? [node] : []));
  });

/** Each is true of a step that breaks it. */
export const broken: Readonly<Record<string, Invariant>> = {
  'a run holds reports of a set before the one that is testing': ({ after: { testing }, after }) =>
    testing !== undefined && !openOf(after)?.superseded && reportsIn(after).some(({ pod }) => isOlder(pod, testing)),
  'a rank counts twice, or for two pods, in one run': ({ before, after }) => {
    const ranks = reportsIn(after).map(({ report }) => report.rank);
    const same = openOf(before)?.run === openOf(after)?.run;
    const other = (one: CollectedReport) =>
      reportsIn(before).some(({ report, pod }) => report.rank === one.report.rank && pod.uid !== one.pod.uid);
    return new Set(ranks).size < ranks.length || (same && reportsIn(after).some(other));
  },
  'a report is judged in two runs': (step, earlier) => {
    const judged = judgedLast([...earlier, step]);
    return reportsIn(step.after).some((one) => judged.includes(idOf(one)));
  },
  'a run ends without its verdict': ({ before, after }) => {
    const [run, next] = [openOf(before)?.run, openOf(after)?.run];
    return run !== undefined && run !== next && after.last?.run !== run;
  },
  'a verdict is not reported once': (step, earlier) => {
    const noted = ({ after }: Step) => (after.phase === 'reporting' ? after.report.note?.run : undefined);
    const twice =
      isAnswer(step) && noted(step) !== undefined && earlier.some((one) => isAnswer(one) && noted(one) === noted(step));
    return twice || (closes(step) && noted(step) !== step.after.last?.run);
  },
  'a run is complete although ranks are missing': (step) => {
    const { last } = step.after;
    return closes(step) && last?.outcome === 'judged' && last.received !== last.expected;
  },
  'a run ends before its time': ({ before, after }) => {
    if (
      after.phase !== 'judging' ||
      after.evidence !== 'expired' ||
      before.phase === 'judging' ||
      before.phase === 'notifying'
    )
      return false;
    const { deadlines } = after.open;
    return !after.over && !deadlines?.deadline.fired && !deadlines?.inactivity.fired;
  },
  'a node is notified twice': ({ after }, earlier) => {
    if (after.phase !== 'notifying') return false;
    const accepted = acceptedIn(earlier, after.open.run);
    return after.pending.some(({ node }) => node !== undefined && accepted.includes(node));
  },
  'a node was neither notified nor named as not notified': (step, earlier) => {
    const { verdict, unnotified = [] } = step.after.last ?? {};
    const known = [...acceptedIn([...earlier, step]), ...unnotified];
    return (
      closes(step) && [...(verdict?.failed ?? []), ...(verdict?.slow ?? [])].some(({ node }) => !known.includes(node))
    );
  },
  'the same part is judged again': (step, earlier) => {
    const open = judgesPart(step);
    const before = openOf(step.before);
    if (!open || step.before.phase === 'judging' || before?.run !== open.run) return false;
    return earlier.some(
      (one) =>
        judgesPart(one)?.run === open.run && JSON.stringify(judgesPart(one)?.reports) === JSON.stringify(open.reports),
    );
  },
  'a rank that writes again keeps its run open': ({ before, after }) => {
    const [was, is] = [openOf(before), openOf(after)];
    return (
      was !== undefined && was.run === is?.run && was.lastAt !== is.lastAt && was.reports.length === is.reports.length
    );
  },
  'an arrival is lost': ({ before, event, after }) => {
    if (before.phase === 'ended') return false;
    if (event.kind === 'reportsArrived') return after.inbox.length !== before.inbox.length + event.reports.length;
    if (event.kind === 'podsTesting') return after.inbox.length !== before.inbox.length + 1;
    return event.kind === 'podsGone' && !after.podsGone;
  },
  'something that arrived waits for nothing': (step) =>
    isAnswer(step) &&
    ['waiting', 'opening', 'collecting', 'ended'].includes(step.after.phase) &&
    (step.after.inbox.length > 0 || step.after.podsGone),
  'a wait has no deadline': (step) => {
    const timers = timersOf(step.after).map(({ name }) => name);
    if (!isAnswer(step)) return false;
    return step.after.phase === 'waiting'
      ? !timers.includes('idle')
      : step.after.phase === 'collecting' && !(timers.join() === 'inactivity,deadline');
  },
  'it ends although the workload was not seen to be over': (step, earlier) => {
    const seen = [...earlier, step].flatMap(({ event }) =>
      event.kind === 'workloadObserved' ? [event.seen?.kind] : [],
    );
    return step.after.phase === 'ended' && seen.every((kind) => kind !== 'gone');
  },
  'an answer that came twice or too late changes something': ({ before, event, after }) =>
    'effect' in event && event.effect !== before.effect && JSON.stringify(before) !== JSON.stringify(after),
  'people see another time although they see the same phase': ({ before, after }) =>
    before.since !== after.since && shownPhase(before) === shownPhase(after),
  'reports would continue as new': ({ after }) => canContinueAsNew(after) && JSON.stringify(after).includes('"tests":'),
};

/** All of them, or only some. */
export const property = (
  some: readonly string[] = Object.keys(broken),
): MachineProperty<PreflightState, PreflightEvent> => ({
  first: () => firstState(0),
  events,
  violations: (step, earlier) => some.filter((what) => broken[what]?.(step, earlier)),
});
