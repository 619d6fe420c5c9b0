/** What must hold in every recovery, whatever happens (design 4.2), as sentences about one step of its machine. */

import type { RecoveryEvent } from '../../workflows/recovery/events.ts';
import { forcedEver } from '../../workflows/recovery/incident.ts';
import { answersOf } from '../../workflows/recovery/questions.ts';
import type { Phase, RecoveryState } from '../../workflows/recovery/state.ts';
import { nextState, type Transitions } from '../../workflows/state-machine.ts';
import type { MachineProperty, Played } from './machine-properties.ts';
import { firstRecovery, recoveryEvents } from './recovery-events.ts';

type Step = Played<RecoveryState, RecoveryEvent>;
type Table = Transitions<RecoveryState, RecoveryEvent>;

export const recoveryProperty = (
  table: Table,
  first = firstRecovery,
  events = recoveryEvents,
): MachineProperty<RecoveryState, RecoveryEvent> => ({
  first,
  events,
  violations: (step, earlier) => invariants.flatMap((broken) => broken(step, earlier, table)),
});

/** Answers after which a phase has nothing left to do. */
const finalAnswers: ReadonlySet<string> = new Set<RecoveryEvent['kind']>([
  'decided',
  'lookOutdated',
  'denied',
  'holdExpired',
  'prepared',
  'othersFound',
  'stopAnswered',
  'attemptAwaited',
  'progressAwaited',
  'recorded',
]);

const isIn = <P extends Phase>(
  state: RecoveryState,
  ...phases: readonly P[]
): state is Extract<RecoveryState, { readonly phase: P }> => (phases as readonly Phase[]).includes(state.phase);

/** What is sent as this step's consequence: a stop that is recorded is sent, and one more time for each round by force. */
function sent({ before, after }: Step) {
  if (after.phase !== 'stopping' || !after.stop) return undefined;
  const { stop } = after;
  const isNew = before.phase !== 'stopping' || before.stop === undefined || after.stopsStarted > before.stopsStarted;
  return isNew || after.turn > before.turn ? { ...stop, isFirst: isNew && stop.rounds === 0 } : undefined;
}

const isUndone = ({ before, event, after }: Step): boolean =>
  before.phase === 'stopping' &&
  event.kind === 'stopAnswered' &&
  (event.result.kind === 'interfered' || event.result.kind === 'unsent') &&
  after.turn > before.turn;

const enters = ({ before, after }: Step, phase: Phase): boolean =>
  after.phase === phase && (before.phase !== phase || after.turn > before.turn);

type Invariant = (step: Step, earlier: readonly Step[], table: Table) => string[];

const neverTwoStops: Invariant = (step, earlier) => {
  const now = sent(step);
  if (!now?.isFirst) return [];
  const since = earlier.slice(earlier.findLastIndex((one) => isUndone(one)) + 1);
  const { before } = earlier[0] ?? step;
  const began = before.phase === 'stopping' && before.stop?.attempt === now.attempt && since.length === earlier.length;
  const again = since.some((one) => sent(one)?.isFirst === true && sent(one)?.attempt === now.attempt);
  return began || again || step.after.stops.some(({ attempt }) => attempt === now.attempt)
    ? [`attempt ${now.attempt} is stopped twice`]
    : [];
};

const neverALaterAttempt: Invariant = (step) => {
  const now = sent(step);
  const others = [...(now?.pods ?? []), ...(now?.terminating ?? [])].filter(
    ({ uid }) => !uid.startsWith(`a${now?.attempt}-`),
  );
  return now && (others.length > 0 || now.attempt !== step.after.stops.length + 1)
    ? [`a stop of attempt ${now.attempt} has pods of another attempt`]
    : [];
};

const everyStopIsAccountedFor: Invariant = (step, earlier) => {
  if (!enters(step, 'recording')) return [];
  const all = [...earlier, step];
  const began = all.filter((one) => sent(one)?.isFirst).length - all.filter((one) => isUndone(one)).length;
  const asked = all.filter(
    ({ before, event }) =>
      before.phase === 'preparing' && event.kind === 'processesAsked' && event.turn === before.turn,
  ).length;
  const { stopsStarted } = (earlier[0] ?? step).before;
  return step.after.stopsStarted === stopsStarted + began + asked ? [] : ['a stop that was begun is not accounted for'];
};

const everyForceIsRecorded: Invariant = ({ before, event, after }) =>
  event.kind !== 'stopAnswered' &&
  forcedEver(before).some(({ uid }) => !forcedEver(after).some((one) => one.uid === uid))
    ? ['a pod that may have been deleted by force is forgotten']
    : [];

const everyAnswerWasAsked: Invariant = ({ before, event, after }) =>
  event.kind === 'stopAnswered' &&
  event.turn !== before.turn &&
  after !== before &&
  JSON.stringify(after) !== JSON.stringify(before)
    ? ['a stop is answered that was not asked for']
    : [];

const aSuspendedJobIsResumed: Invariant = (step) => {
  const { after } = step;
  const isSaid = 'end' in after && after.end.because.includes('it could not be resumed');
  return [
    ...(isIn(after, 'recording', 'ended') && after.suspended && !isSaid ? ['the job is left suspended'] : []),
    ...(enters(step, 'starting') && step.before.phase === 'between-attempts' && after.suspended
      ? ['the next attempt is awaited while the job is suspended']
      : []),
  ];
};

const thereIsAlwaysAnEnd: Invariant = ({ before, event, after }, _earlier, table) => {
  const isAnswer = 'turn' in event && event.turn === before.turn && finalAnswers.has(event.kind);
  const isAsked =
    isAnswer &&
    event.kind in table[before.phase] &&
    !(event.kind === 'stopAnswered' && before.phase === 'stopping' && !before.stop);
  const at = 1e9;
  const kinds = ['interrupted', 'resumed', 'settled', 'recorded'] as const;
  const end = kinds.reduce<RecoveryState>((state, kind) => {
    const answer = kind === 'interrupted' ? { kind, end: { outcome: 'cancelled', because: 'x' } as const } : { kind };
    return nextState(table, state, { ...answer, at, turn: state.turn });
  }, after);
  return [
    ...(isAsked && after.turn === before.turn ? [`${event.kind} is answered and asked again`] : []),
    ...(end.phase === 'ended' ? [] : [`${after.phase} has no end`]),
  ];
};

const interferenceHasAnEnd: Invariant = (step, earlier) => {
  const all = [...earlier, step];
  const since = all.slice(all.findLastIndex((one) => enters(one, 'between-attempts')) + 1);
  const times = since.filter((one) => enters(one, 'backing-off')).length;
  return enters(step, 'backing-off') && times > 7 ? [`${times} stops in a row did nothing`] : [];
};

const forceHasAnEnd: Invariant = (step, earlier) => {
  const last = earlier.findLastIndex((one) => sent(one)?.isFirst === true);
  const rounds = [...earlier.slice(last + 1), step].filter((one) => sent(one)?.isFirst === false).length;
  return sent(step)?.isFirst === false && rounds > 5 ? [`${rounds} rounds by force`] : [];
};

const thereIsOneRecord: Invariant = (step, earlier) => [
  ...(enters(step, 'recording') && earlier.some((one) => enters(one, 'recording')) ? ['it is recorded twice'] : []),
  ...(isIn(step.before, 'recording') &&
  'end' in step.after &&
  JSON.stringify(step.after.end) !== JSON.stringify(step.before.end)
    ? ['it has another end']
    : []),
];

const aHeldRecoveryStopsNothing: Invariant = (step, earlier) => {
  if (!sent(step)) return [];
  const decided = earlier.findLast(
    ({ before, event }) => event.kind === 'decided' && before.phase === 'deciding' && event.turn === before.turn,
  );
  return decided?.event.kind === 'decided' && decided.event.decision.kind !== 'stop'
    ? ['a held recovery stops the job']
    : [];
};

const whatChangedIsLookedAt: Invariant = (step) =>
  enters(step, 'stopping') &&
  step.before.phase === 'preparing' &&
  isIn(step.after, 'stopping') &&
  decidedAt(step.before) !== step.after.revision
    ? ['a stop begins though something changed since it was decided']
    : [];

const decidedAt = (state: RecoveryState): number | undefined => ('covers' in state ? state.covers.revision : undefined);

const newFaultsStayWithTheJob: Invariant = ({ after }) => {
  if (!('covered' in after)) return [];
  const known = new Set([
    ...after.looked,
    ...after.handled,
    ...after.faults.filter(({ pod }) => pod && after.stoppedPods.includes(pod.uid)).map(({ id }) => id),
  ]);
  return after.covered.some((id) => !known.has(id)) ? ['a fault that no look has covered is reported as handled'] : [];
};

const answersAreKept: Invariant = ({ before, after }) =>
  answersOf(before.questions).length > answersOf(after.questions).length ? ['the answer of a person is forgotten'] : [];

export const invariants: readonly Invariant[] = [
  neverTwoStops,
  neverALaterAttempt,
  everyStopIsAccountedFor,
  everyForceIsRecorded,
  everyAnswerWasAsked,
  aSuspendedJobIsResumed,
  thereIsAlwaysAnEnd,
  interferenceHasAnEnd,
  forceHasAnEnd,
  thereIsOneRecord,
  aHeldRecoveryStopsNothing,
  whatChangedIsLookedAt,
  newFaultsStayWithTheJob,
  answersAreKept,
];
