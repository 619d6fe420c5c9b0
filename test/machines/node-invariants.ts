/** What must hold in every step of a node's machine. */

import type { NodeEvent } from '../../workflows/node/events.ts';
import type { Message } from '../../workflows/node/messages.ts';
import { isAtRest, isOut, type NodeState } from '../../workflows/node/state.ts';
import type { Played } from '../support/machine-properties.ts';

type Step = Played<NodeState, NodeEvent>;

/** An invariant: a sentence where the step breaks it. */
type Invariant = (step: Step, earlier: readonly Step[]) => string | false;

const idsOf = (state: NodeState): string[] =>
  [...(state.phase === 'deciding' ? state.batch.faults : []), ...state.inbox].map(({ id }) => id);
const requestIn = (state: NodeState) =>
  state.requested ?? (state.phase === 'deciding' ? state.batch.request : undefined);
const afterwardsIn = (state: NodeState): readonly Message[] =>
  state.phase === 'reserving' || state.phase === 'quarantining' ? state.afterwards : [];
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Messages that were kept before the step and must still be, and those that it added. */
const keptOf = ({ before, event }: Step): readonly Message[] => before.outbox.slice(event.kind === 'sent' ? 1 : 0);
const addedBy = (step: Step): readonly Message[] => step.after.outbox.slice(keptOf(step).length);
const returns = (step: Step): boolean =>
  addedBy(step).some((message) => message.to === 'cluster' && message.returned === step.before.view?.uid);
const hasReservation = ({ quarantine, held }: NodeState): boolean =>
  quarantine !== undefined || held?.reserved === true;
const startsOf = (step: Step) =>
  addedBy(step).flatMap((message) => (message.to === 'remedy' && 'start' in message ? [message.start] : []));
const isEnding = ({ phase }: NodeState): boolean => phase === 'closing' || phase === 'ended';
/** The run ends without a machine that faults could be about. */
const endsWithoutNode = ({ phase, view }: NodeState): boolean => phase === 'ended' && !view;

const invariants: readonly Invariant[] = [
  ({ after }) =>
    after.quarantine !== undefined && after.held !== undefined && 'the node is quarantined and held at once',
  ({ after }) => after.phase === 'watching' && isOut(after) && 'a quarantine is only watched',

  ({ before, event, after }) => {
    const isSeen =
      event.kind === 'quarantineWritten' ||
      (event.kind === 'observed' && event.view?.taint?.incident === before.held?.incident);
    return (
      after.quarantine !== undefined &&
      !before.quarantine &&
      !(isSeen && before.held?.reserved) &&
      'a quarantine began that was not read back'
    );
  },
  ({ before, event, after }) =>
    after.phase === 'quarantining' &&
    before.phase !== after.phase &&
    event.kind !== 'reserved' &&
    'a write has no reservation',
  ({ before, event, after }, earlier) => {
    if (!before.quarantine || after.quarantine || (event.kind === 'observed' && after.held)) return false;
    const { incident } = before.quarantine;
    const ends = [...earlier]
      .flatMap(addedBy)
      .some((message) => message.to === 'records' && message.record.incident === incident && message.record.ended);
    return !(ends && before.phase === 'closing') && 'a quarantine ended without a record of its end';
  },
  (step) => {
    const begins =
      step.after.quarantine !== undefined && step.after.quarantine.incident !== step.before.quarantine?.incident;
    return (
      begins &&
      !addedBy(step).some((message) => message.to === 'records' && !message.record.ended) &&
      'a quarantine began without a record'
    );
  },
  ({ before, event, after }) =>
    before.phase === 'releasing' &&
    event.kind === 'releaseFailed' &&
    !isOut(after) &&
    'a release that failed ended the quarantine',
  ({ event: last, after }, earlier) => {
    const isReleased = after.phase === 'closing' && after.outcome.outcome === 'released';
    return (
      isReleased &&
      ![last, ...earlier.map(({ event }) => event)].some(({ kind }) => kind === 'released') &&
      'a release was reported that was not confirmed'
    );
  },
  ({ before, event, after }) =>
    before.phase === 'releasing' &&
    event.kind === 'releaseFailed' &&
    !(after.releaseAt !== undefined && after.releaseAt > event.at) &&
    'a failed release is not tried again later',
  ({ after }) =>
    after.release !== undefined &&
    after.view !== undefined &&
    !isOut(after) &&
    !isEnding(after) &&
    'a release waits for a later quarantine',

  (step) => {
    const lost =
      hasReservation(step.before) && !isEnding(step.before) && (!hasReservation(step.after) || isEnding(step.after));
    const moved =
      hasReservation(step.before) && step.event.kind === 'observed' && step.event.view?.uid !== step.before.view?.uid;
    return (lost || (moved && step.before.phase === 'observing')) && !returns(step) && 'a reservation was not returned';
  },

  ({ before, event, after }) => {
    const isJudged = before.phase === 'deciding' && event.kind === 'decided';
    const missing = (isJudged ? before.inbox.map(({ id }) => id) : idsOf(before)).filter(
      (id) => !idsOf(after).includes(id),
    );
    return missing.length > 0 && !endsWithoutNode(after) && `${missing.join()} was lost`;
  },
  ({ before, event, after }) => {
    if (event.kind === 'observed' || event.kind === 'successorObserved' || before.phase === 'ended') return false;
    const expected = before.phase === 'deciding' && event.kind === 'decided' ? event.decision.history : before.history;
    return !same(after.history, expected) && 'the counts of rules were lost';
  },
  ({ after }) => after.history.length > 64 && 'the counts of rules grow without bound',
  (step) => {
    const { quarantine, held } = step.after;
    return (
      (quarantine?.asks === true || held?.asks === true) &&
      addedBy(step).some(
        ({ to, ...message }) =>
          // In mode observe, jobs learn what would be done, and none is stopped.
          to === 'jobs' && 'state' in message && !['in-service', 'not-ready', 'observed'].includes(message.state),
      ) &&
      'jobs were notified of a node that is only asked about'
    );
  },
  ({ before, event, after }) =>
    before.phase === 'deciding' &&
    event.kind === 'decided' &&
    event.decision.kind === 'quarantine' &&
    event.decision.asks === undefined &&
    (after.quarantine?.asks === true || after.held?.asks === true) &&
    'a convicted node is still a question',
  ({ before, event, after }) => {
    if (before.phase !== 'deciding' || event.kind !== 'decided') return false;
    const known = after.faults.map(({ id }) => id);
    return event.decision.faults.some(({ id }) => !known.includes(id)) && 'a fault that counts was forgotten';
  },
  ({ event, after }) => {
    if (event.kind !== 'faultsObserved' || after.phase === 'ended') return false;
    const known = [...idsOf(after), ...after.faults.map(({ id }) => id)];
    return event.faults.some(({ id }) => !known.includes(id)) && 'a fault was not taken';
  },
  ({ after }) =>
    new Set([...idsOf(after), ...after.faults.map(({ id }) => id)]).size < idsOf(after).length + after.faults.length &&
    'a fault was taken twice',
  ({ before, event, after }) => {
    const waiting = before.phase === 'deciding' && event.kind === 'decided' ? before.requested : requestIn(before);
    return waiting !== undefined && !requestIn(after) && !endsWithoutNode(after) && 'a request was lost';
  },
  ({ before, after }) =>
    before.stale && !after.stale && after.phase !== 'observing' && 'a change of the node was not looked at',
  ({ before, after }) =>
    before.recheck &&
    !after.recheck &&
    after.held !== undefined &&
    after.phase !== 'reserving' &&
    'a notification was forgotten',
  ({ before, event, after }) =>
    before.phase === 'quarantining' &&
    event.kind === 'quarantineNotWritten' &&
    after.phase !== 'observing' &&
    'a write that failed was not looked at',

  (step) => !same(step.after.outbox.slice(0, keptOf(step).length), keptOf(step)) && 'a message was lost',
  (step) => {
    const later = [...afterwardsIn(step.after), ...addedBy(step)].map((message) => JSON.stringify(message));
    return (
      afterwardsIn(step.before).some((message) => !later.includes(JSON.stringify(message))) &&
      'a message that waited was lost'
    );
  },
  (step) =>
    addedBy(step).some((message) => message.to === 'jobs' && message.state === 'quarantined') &&
    !step.after.quarantine &&
    'jobs believe in a quarantine that is not in force',
  (step, earlier) => {
    const { before, event } = step;
    if (event.kind !== 'refused' || before.phase !== 'reserving' || before.faults.length === 0 || before.held.asks)
      return false;
    const isReported = addedBy(step).some((message) => message.to === 'jobs' && message.state === 'held');
    const last = earlier.findLast(
      ({ event: { kind } }) => kind === 'refused' || kind === 'decided' || kind === 'quarantineNotWritten',
    );
    const isKnown =
      last?.event.kind === 'refused' &&
      last.before.held?.incident === before.held.incident &&
      last.event.because === event.because;
    if (isKnown) return isReported && 'a refusal was reported twice';
    return before.held.reported === undefined && !isReported && 'a refusal was not reported';
  },
  ({ before, event, after }) =>
    event.kind === 'deadlinePassed' &&
    event.deadline === -1 &&
    !same(before, after) &&
    'a timer of another deadline counted',
  ({ before, event, after }) =>
    event.kind === 'deadlinePassed' &&
    before.inbox.length > 0 &&
    before.phase !== after.phase &&
    'a deadline came before faults that wait',
  ({ before, event, after }) =>
    event.kind === 'runContinued' && isAtRest(before) && after.phase !== 'observing' && 'a new run did not look first',
  (step, earlier) => {
    const starts = startsOf(step);
    const known = new Set(earlier.flatMap(startsOf).map(({ incident }) => incident));
    return starts.some(({ incident }) => known.has(incident)) && 'a repair was started twice';
  },
  (step) => {
    const { quarantine } = step.after;
    const isOurs = quarantine?.by === 'kcover' && quarantine.taint === 'ours' && quarantine.asks === undefined;
    return (
      startsOf(step).some(({ incident }) => incident !== quarantine?.incident || !isOurs) &&
      'a repair was started for a node that kcover may not repair'
    );
  },
  (step) => {
    const { before, after } = step;
    const isOpen = before.remedy !== undefined && before.remedy.phase !== 'ended';
    const isLeft = after.phase === 'releasing' || after.quarantine?.incident !== before.quarantine?.incident;
    const isCancelled = [...step.before.outbox, ...addedBy(step)].some(
      (message) => message.to === 'remedy' && 'cancel' in message,
    );
    const isAlready = before.phase === 'releasing' || before.phase === 'closing';
    return isOpen && isLeft && !isAlready && !isCancelled && 'a repair outlives its quarantine';
  },
  ({ before, event, after }) => {
    const isKcovers = after.release?.by === 'kcover' && before.release?.by !== 'kcover';
    const isCured =
      event.kind === 'remedyProgressed' &&
      event.progress.outcome === 'cured' &&
      event.progress.release === 'verified' &&
      event.progress.incident === before.quarantine?.incident;
    return isKcovers && !isCured && 'kcover releases a node that is not cured';
  },
  ({ before, event, after }) =>
    before.phase === 'deciding' &&
    event.kind === 'decided' &&
    (event.decision.kind === 'quarantine' || event.decision.kind === 'observe') &&
    !event.decision.asks &&
    event.decision.faults.length > 0 &&
    before.remedy !== undefined &&
    after.release?.by === 'kcover' &&
    'kcover releases a node in spite of a fault',
  ({ before, event, after }, earlier) => {
    const releases = after.release?.by === 'kcover' && before.release === undefined;
    if (event.kind !== 'remedyProgressed' || !releases) return false;
    const proven = earlier.findLastIndex(
      (one) => one.event.kind === 'remedyProgressed' && !same(one.before.remedy, one.after.remedy),
    );
    const isHit = earlier
      .slice(proven + 1)
      .some(({ event: one }) => one.kind === 'decided' && one.decision.kind === 'quarantine' && !one.decision.asks);
    return isHit && before.remedy?.phase === 'probation' && 'a fault in probation is overlooked';
  },
  ({ after }) =>
    after.remedy !== undefined &&
    after.quarantine?.incident !== after.remedy.incident &&
    !isEnding(after) &&
    'a repair of an earlier quarantine is shown',
  ({ before, event, after }) =>
    event.kind === 'remedyProgressed' &&
    event.progress.incident === before.quarantine?.incident &&
    before.remedy?.phase !== 'ended' &&
    before.phase !== 'ended' &&
    !same(after.remedy, event.progress) &&
    'the progress of a repair was lost',
  ({ after }) => after.phase === 'ended' && after.outbox.length > 0 && 'it ended before everything was sent',
  ({ after }) =>
    after.phase === 'ended' &&
    after.view !== undefined &&
    (after.inbox.length > 0 || after.requested !== undefined) &&
    'it ended with work to do',
  ({ before, after }) => before.phase === 'ended' && !same(before, after) && 'it went on after its end',
];

export const violationsOfNode = (step: Step, earlier: readonly Step[]): string[] =>
  invariants.flatMap((invariant) => {
    const broken = invariant(step, earlier);
    return broken === false ? [] : [broken];
  });
