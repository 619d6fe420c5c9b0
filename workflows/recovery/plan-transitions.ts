/** From a decision to the stop that it wants: what is prepared, in which order, and when the facts are too old. Pure. */

import type { RecoveryPlan } from '../../contract/recovery/plan.ts';
import { enterStarting } from './attempt-transitions.ts';
import type { EventOf } from './events.ts';
import { heldInAll, noHolds } from './holds.ts';
import { noted, withDecision, withHandled } from './incident.ts';
import { extend } from './questions.ts';
import { decideAgain, enter, enterEnding, type In, type RecoveryState } from './state.ts';
import { steps, changedSteps, nextStep, stepsDoneAt } from './steps/index.ts';
import { type Preparable, planOf } from './steps/step.ts';

/** Facts of at most this age still hold: the stop checks again that job and pods are those that it was decided for. ms */
const freshMs = 2000;

/** Looks at one attempt for the age of the facts alone: every look may take long. */
const mostAgedLooks = 3;

export function decided(
  before: In<'deciding'>,
  { decision, facts, covers, isPaused, at }: EventOf<'decided'>,
): RecoveryState {
  const state = withDecision(before, decision);
  switch (decision.kind) {
    case 'end': {
      const { outcome, because } = decision;
      return enterEnding(decision.plan ? withWouldDo(state, decision.plan, at) : state, { outcome, because });
    }
    case 'hold': {
      if (decision.inProcess) return enterPreparing(holdEnded(state, at), decision, { facts, covers });
      return enter(state, {
        phase: 'held',
        decision,
        covers,
        reason: decision.unobservable === true ? 'unobservable' : isPaused ? 'paused' : 'held',
      });
    }
    case 'go-on':
      return enterStarting(withHandled(holdEnded(state, at), covers.faults), at);
    case 'stop':
      return enterPreparing(withIgnored(holdEnded(state, at), decision.plan, at), decision, { facts, covers });
  }
}

/** During a hold no person could answer, and capacity was not looked up: its whole length does not count. */
function holdEnded<State extends RecoveryState>(state: State, at: number): State {
  const ms = heldInAll(state.holds, at);
  const steps = changedSteps(state.steps, { kind: 'heldFor', ms });
  return { ...state, holds: noHolds, questions: extend(state.questions, ms), steps };
}

function withIgnored(state: RecoveryState, plan: RecoveryPlan | undefined, at: number): RecoveryState {
  if (!plan || state.planNoted) return state;
  return plan.ignored.reduce((after, each) => noted(after, at, 'ignored', each), { ...state, planNoted: true });
}

/** What would have been done, where nothing may be done. */
function withWouldDo(state: RecoveryState, plan: RecoveryPlan, at: number): RecoveryState {
  const lines = steps.flatMap(({ wouldDo }) => wouldDo?.(plan) ?? []);
  const { level, ignored } = plan;
  const all = [
    ...lines,
    { what: `would restart the ${level.name}`, because: level.because },
    ...ignored.map((because) => ({ what: 'ignored', because })),
  ];
  return all.reduce((after, { what, because }) => noted(after, at, what, because), state);
}

function enterPreparing(
  state: RecoveryState,
  decision: Preparable,
  of: Pick<In<'preparing'>, 'facts' | 'covers'>,
): RecoveryState {
  const step = nextStep(decision);
  return step === undefined
    ? enterStopping(state, decision, of)
    : enter(state, { phase: 'preparing', step, decision, ...of });
}

/** The next step, another look, the end, or the stop. */
export function prepared(state: In<'preparing'>, { result }: EventOf<'prepared'>): RecoveryState {
  const { decision, facts, covers } = state;
  if (result === 'look again') return decideAgain(state);
  if (result !== 'ready') return enterEnding(withHandled(state, covers.faults), result);
  const step = nextStep(decision, state.step);
  return step === undefined
    ? enterStopping(state, decision, { facts, covers })
    : enter(state, { phase: 'preparing', step, decision, facts, covers });
}

/** Looks again when the facts have grown old meanwhile. The times are from history: after a local activity the workflow's own clock may differ in replay. */
function enterStopping(
  state: RecoveryState,
  decision: Preparable,
  { facts, covers }: Pick<In<'preparing'>, 'facts' | 'covers'>,
): RecoveryState {
  if (decision.kind !== 'stop' || state.revision !== covers.revision) return decideAgain(state);
  const doneAt = Math.max(decision.at, stepsDoneAt(state.steps));
  const isOld = planOf(decision) !== undefined && doneAt - (facts.at ?? decision.at) > freshMs;
  if (isOld && state.agedLooks < mostAgedLooks) return decideAgain({ ...state, agedLooks: state.agedLooks + 1 });
  return enter(state, { phase: 'stopping', decision, facts, covers });
}
