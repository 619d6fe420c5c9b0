/** What must hold in every step of the machine of a remedy. */

import type { RemedyEvent } from '../../workflows/remedy/events.ts';
import { isProven, most, type RemedyState, rungOf } from '../../workflows/remedy/state.ts';
import { progressOf } from '../../workflows/remedy/status.ts';
import { verificationOf } from '../../workflows/remedy/transitions.ts';
import type { Played } from '../support/machine-properties.ts';

type Step = Played<RemedyState, RemedyEvent>;
type Invariant = (step: Step, earlier: readonly Step[]) => string | false;

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The run of a hook that the driver begins in the state. */
function runIn(state: RemedyState): string | undefined {
  if (state.phase === 'remediating' && state.step === 'running') return state.attempt.operation;
  return state.phase === 'verifying' && state.step === 'running' ? verificationOf(state) : undefined;
}

/** The run that this step begins. */
function begunBy({ before, after }: Step): string | undefined {
  const run = runIn(after);
  return run !== undefined && run !== runIn(before) ? run : undefined;
}

const addedBy = ({ before, event, after }: Step) =>
  after.outbox.slice(before.outbox.length - (event.kind === 'sent' && before.outbox.length > 0 ? 1 : 0));

const isNewFault = ({ before, event }: Step): boolean =>
  event.kind === 'faultsObserved' && event.faults.some(({ id }) => before.faults.every((one) => one.id !== id));

const invariants: readonly Invariant[] = [
  (step, earlier) => {
    const run = begunBy(step);
    return run !== undefined && earlier.some((one) => begunBy(one) === run) && 'a hook runs twice under one name';
  },
  (step) => begunBy(step) !== undefined && step.event.kind !== 'machineObserved' && 'a hook runs without a look',
  (step) =>
    begunBy(step) !== undefined &&
    step.event.kind === 'machineObserved' &&
    (step.event.view?.uid !== step.before.input.uid || step.event.view.systemUuid !== step.before.input.systemUuid) &&
    'a hook runs on another machine',
  (step, earlier) => {
    if (begunBy(step) === undefined) return false;
    const permitted = earlier.findLast((one) => one.event.kind === 'permitAnswered' && one.before.phase === 'asking');
    const acted = earlier.findLastIndex((one) => begunBy(one) !== undefined || one.event.kind === 'drainEnded');
    const isGranted = permitted?.event.kind === 'permitAnswered' && permitted.event.permit.kind === 'granted';
    const isOwn =
      permitted !== undefined && earlier.indexOf(permitted) > acted && permitted.after.rung === step.after.rung;
    return !(isGranted && isOwn) && 'a hook runs without a permission of its own';
  },
  ({ before, after }) =>
    before.phase !== after.phase &&
    ['draining', 'remediating', 'verifying'].includes(after.phase) &&
    before.phase !== 'asking' &&
    'it acts without asking',
  ({ before, event, after }) =>
    before.phase !== 'ended' &&
    event.kind === 'cancelRequested' &&
    !(after.phase === 'ended' && after.outcome.outcome === 'cancelled') &&
    'a cancelled remedy goes on',
  ({ before, event, after }) =>
    before.phase === 'ended' && event.kind !== 'sent' && !same(before, after) && 'it went on after its end',
  ({ before, after }) => before.phase === 'ended' && after.phase !== 'ended' && 'it went on after its end',
  ({ after }) =>
    ['waiting', 'draining', 'remediating', 'probation'].includes(after.phase) &&
    progressOf(after, 0).until === undefined &&
    'a wait has no deadline',
  ({ before, event, after }) =>
    before.phase === 'waiting' &&
    event.kind === 'waitEnded' &&
    event.deadline === before.askAt &&
    after.phase !== 'asking' &&
    'a deadline asks nothing',
  ({ before, event, after }) =>
    before.phase === 'waiting' &&
    event.kind === 'waitEnded' &&
    event.deadline === -1 &&
    !before.recheck &&
    !same(before, after) &&
    'a timer of another deadline counted',
  ({ before, event, after }) =>
    event.kind === 'recheckRequested' && before.phase !== 'ended' && !after.recheck && 'a notification was forgotten',
  ({ after }) => {
    const { rungs } = after.input.ladder;
    const attempts = rungs.reduce((sum, rung) => sum + rung.attempts, 0);
    return after.remediations.length > attempts + most.delays + 1 && 'remediations are not bounded';
  },
  ({ before, event, after }) =>
    after.phase === 'waiting' &&
    (event.kind === 'hookEnded' || event.kind === 'drainEnded') &&
    before.phase !== 'waiting' &&
    after.delays !== before.delays + 1 &&
    'a delay is not counted',
  ({ before, after }) =>
    !same(after.remediations.slice(0, before.remediations.length), before.remediations) && 'a remediation was lost',
  ({ before, after }) =>
    before.attempt?.before !== undefined &&
    (after.attempt?.operation !== before.attempt.operation || after.phase === 'ended') &&
    after.remediations.length !== before.remediations.length + 1 &&
    'an attempt ended without a record',
  ({ before, after }) => {
    const ended = after.remediations[before.remediations.length];
    return (
      ended?.outcome === 'unknown' &&
      after.phase !== 'ended' &&
      after.rung === before.rung &&
      'a rung of which no one knows the result may run again'
    );
  },
  ({ before, after }) => after.rung < before.rung && 'it went back to a lower rung',
  ({ before, after }) => {
    const rung = rungOf(before);
    return (
      rung !== undefined &&
      after.rung === before.rung &&
      after.phase !== 'ended' &&
      after.failures >= rung.attempts &&
      'a rung has more attempts than it may have'
    );
  },
  ({ before, event, after }) => {
    const isProof =
      (event.kind === 'proofEnded' && event.result.outcome === 'proven') ||
      (event.kind === 'hookEnded' && event.result.verdict === 'passed');
    return !isProven(before) && isProven(after) && !isProof && 'an attempt counts as proven without a proof';
  },
  ({ before, event, after }) =>
    before.phase !== 'probation' &&
    after.phase === 'probation' &&
    rungOf(after)?.verify !== undefined &&
    !(before.phase === 'verifying' && event.kind === 'hookEnded' && event.result.verdict === 'passed') &&
    'a node is on probation without its test',
  ({ before, event, after }) =>
    after.phase === 'ended' &&
    before.phase !== 'ended' &&
    after.outcome.outcome === 'cured' &&
    !(before.phase === 'probation' && event.kind === 'probationEnded' && event.view?.ready === true) &&
    'a node is cured before its probation is over',
  (step) => {
    const { before, event, after } = step;
    if (event.kind !== 'faultsObserved' || !isNewFault(step) || before.phase === 'ended') return false;
    const provenAt = before.attempt?.provenAt;
    const isAfter = provenAt !== undefined && event.faults.some(({ seenAt }) => Date.parse(seenAt) >= provenAt);
    const isRelapse = after.remediations.at(-1)?.outcome === 'relapsed' && after.rung === before.rung + 1;
    return isAfter && !isRelapse && 'a fault after the proof changes nothing';
  },
  ({ before, event, after }) =>
    event.kind === 'faultsObserved' &&
    !isProven(before) &&
    (after.phase !== before.phase || after.remediations.length !== before.remediations.length) &&
    'a fault counts that may follow from the hook',
  ({ before, event, after }) =>
    event.kind === 'faultsObserved' &&
    before.phase !== 'ended' &&
    event.faults.some(({ id }) => after.faults.every((one) => one.id !== id)) &&
    'a fault was not remembered',
  ({ before, event, after }) =>
    event.kind === 'recalled' &&
    before.phase === 'remembering' &&
    (event.recalled?.incidents.length ?? 0) >= before.input.ladder.retireAt &&
    !(after.phase === 'ended' && after.outcome.outcome === 'retired') &&
    'a machine that fails too often is repaired',
  (step) =>
    step.after.phase === 'ended' &&
    step.before.phase !== 'ended' &&
    !addedBy(step).some(({ to }) => to === 'cluster') &&
    'the permission was not returned',
  (step) =>
    step.after.phase === 'ended' &&
    step.before.phase !== 'ended' &&
    ['exhausted', 'retired'].includes(step.after.outcome.outcome) &&
    !addedBy(step).some((message) => message.to === 'people' && message.event.type === 'Warning') &&
    'no one is asked to repair the machine',
  ({ after }) => (after.because === '' || after.because === undefined) && 'a state has no reason',
];

export const violationsOfRemedy = (step: Step, earlier: readonly Step[]): string[] =>
  invariants.flatMap((invariant) => {
    const broken = invariant(step, earlier);
    return broken === false ? [] : [broken];
  });
