/** What each event does to the state of a remedy. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { CommonTransitions, InPhase, Transitions } from '../state-machine.ts';
import type { RemedyEvent, RemedyEventOf } from './events.ts';
import { cancelled, cured, delayed, ended, failed, relapsed, whyOther } from './outcomes.ts';
import {
  asking,
  type Attempt,
  isProven,
  operationOf,
  type RemedyData,
  type RemedyState,
  remembered,
  rungOf,
  toPeople,
  withMessages,
} from './state.ts';

type Remediating = InPhase<RemedyState, 'remediating'>;
type Verifying = InPhase<RemedyState, 'verifying'>;

/** In every phase but the last. */
const always = {
  faultsObserved: { to: ['asking', 'ended'], next: faultsObserved },
  cancelRequested: { to: ['ended'], next: (state, { because, at }) => cancelled(state, because, at) },
  recheckRequested: { to: [], next: (state) => ({ ...state, recheck: true }) },
  sent: { to: [], next: (state) => ({ ...state, outbox: state.outbox.slice(1) }) },
} satisfies CommonTransitions<RemedyState, RemedyEvent>;

export const remedyTransitions: Transitions<RemedyState, RemedyEvent> = {
  remembering: {
    ...always,
    recalled: { to: ['asking', 'ended'], next: recalled },
  },
  asking: {
    ...always,
    permitAnswered: { to: ['draining', 'remediating', 'verifying', 'waiting', 'ended'], next: permitAnswered },
  },
  waiting: {
    ...always,
    waitEnded: {
      to: ['asking'],
      next: (state, { deadline }) => (state.recheck || deadline === state.askAt ? asking(state) : state),
    },
  },
  draining: {
    ...always,
    drainEnded: { to: ['asking', 'waiting', 'ended'], next: drainEnded },
  },
  remediating: {
    ...always,
    machineObserved: { to: ['ended'], next: lookedBeforeHook },
    hookEnded: { to: ['asking', 'waiting', 'probation', 'ended'], next: hookEnded },
    proofEnded: { to: ['asking', 'probation', 'ended'], next: proofEnded },
  },
  verifying: {
    ...always,
    machineObserved: { to: ['ended'], next: lookedBeforeVerification },
    hookEnded: { to: ['asking', 'waiting', 'probation', 'ended'], next: verificationEnded },
  },
  probation: {
    ...always,
    probationEnded: { to: ['asking', 'ended'], next: probationEnded },
  },
  ended: { sent: always.sent },
};

function recalled(state: RemedyState, { recalled: known }: RemedyEventOf<'recalled'>): RemedyState {
  const { retireAt } = state.input.ladder;
  const count = known?.incidents.length ?? 1;
  if (count >= retireAt)
    return ended(state, 'retired', `${count} incidents of this machine within the memory, and ${retireAt} retire it`);
  const missing = known ? known.unread : 'the memory';
  return asking(state, `${state.because}${missing === undefined ? '' : `; ${missing} could not be read`}`);
}

function permitAnswered(state: RemedyState, { permit, at }: RemedyEventOf<'permitAnswered'>): RemedyState {
  switch (permit.kind) {
    case 'over':
      return cancelled(state, permit.because, at);
    case 'refused':
      return refused(state, permit, at);
    case 'granted':
      return begun({ ...state, reported: undefined }, at);
  }
}

/** People are notified once of each refusal. */
function refused(
  state: RemedyData,
  { because: refusal, askAgainMs }: { readonly because: string; readonly askAgainMs: number },
  at: number,
): RemedyState {
  const because = `held: ${refusal}`;
  const message = `the repair of the node waits: ${refusal}`;
  const events = state.reported === refusal ? [] : [toPeople(state, 'Normal', 'remedyHeld', { message, key: refusal })];
  const data = withMessages({ ...state, reported: refusal }, ...events);
  return { ...data, phase: 'waiting', askAt: at + askAgainMs, because };
}

function begun(data: RemedyData, at: number): RemedyState {
  const { attempt, drained, input } = data;
  const rung = rungOf(data);
  if (!rung) return ended(data, 'exhausted', 'the ladder has no such rung');
  if (attempt && isProven(data)) {
    const because = `${rung.verify ?? ''} tests the node: ${attempt.proof ?? ''}`;
    return {
      ...data,
      phase: 'verifying',
      step: 'looking',
      because,
      attempt: { ...attempt, checks: attempt.checks + 1 },
    };
  }
  if (!drained) {
    const because = 'other workloads leave the node first';
    return { ...data, phase: 'draining', because, until: at + (input.ladder.drainMs ?? 0) };
  }
  const number = data.runs + 1;
  const because = `rung ${data.rung + 1} of ${input.ladder.rungs.length}: ${rung.hook}, attempt ${number}`;
  const operation = operationOf(data, `a${number}`);
  const event = toPeople(data, 'Normal', 'remediating', { message: `${because}; ${data.because}`, key: operation });
  return {
    ...withMessages({ ...data, runs: number }, event),
    phase: 'remediating',
    step: 'looking',
    because,
    attempt: { number, operation, begunAt: at, until: at + rung.timeoutMs, checks: 0 },
  };
}

function drainEnded(state: RemedyState, { result, at }: RemedyEventOf<'drainEnded'>): RemedyState {
  switch (result.outcome) {
    case 'gone':
      return cancelled(state, result.because, at);
    case 'drained':
      // It may have taken hours.
      return asking({ ...state, drained: true }, result.because);
    case 'blocked':
      return delayed(state, `other workloads do not leave: ${result.because}`, at);
  }
}

function lookedBeforeHook(state: Remediating, { view, at }: RemedyEventOf<'machineObserved'>): RemedyState {
  if (state.step !== 'looking') return state;
  const other = whyOther(state, view);
  if (!view || other !== undefined) return cancelled(state, other ?? '', at);
  return { ...state, step: 'running', attempt: { ...state.attempt, before: view } };
}

/** A rung whose proof does not need the answer of the hook is judged by what is observed: a Job that reboots its node cannot report. */
function hookEnded(state: Remediating, { operation, result, at }: RemedyEventOf<'hookEnded'>): RemedyState {
  const rung = rungOf(state);
  if (!rung || state.step !== 'running' || operation !== state.attempt.operation) return state;
  const { verdict, because, reference } = result;
  const attempt = { ...state.attempt, ...(reference !== undefined && { reference }) };
  const data = { ...state, attempt };
  if (verdict === 'busy') return delayed(data, because, at);
  if (verdict === 'failed') return failed(data, { outcome: 'failed', because, at }, true);
  if (verdict === 'unknown' && rung.proof.includes('result'))
    return failed(data, { outcome: 'unknown', because, at }, false);
  if (rung.proof.every((one) => one === 'result')) return proven(data, attempt, because, at);
  return { ...data, step: 'proving', attempt: { ...attempt, hook: { verdict, because } } };
}

function proofEnded(state: Remediating, { operation, result, at }: RemedyEventOf<'proofEnded'>): RemedyState {
  const { attempt, step } = state;
  if (step !== 'proving' || operation !== attempt.operation) return state;
  switch (result.outcome) {
    case 'gone':
      return cancelled(state, result.because, at);
    case 'proven':
      return proven(state, attempt, result.because, at);
    case 'not-proven': {
      // A hook whose result is unknown is not run again.
      const isKnown = attempt.hook?.verdict !== 'unknown';
      const because = isKnown ? result.because : `${attempt.hook?.because ?? ''}; ${result.because}`;
      return failed(state, { outcome: isKnown ? 'not-proven' : 'unknown', because, at }, isKnown);
    }
  }
}

function proven(before: RemedyData, attempt: Attempt, proof: string, at: number): RemedyState {
  const data = { ...before, attempt: { ...attempt, proof, provenAt: at } };
  const fault = data.faults.find((one) => isOfNewBoot(data, attempt, one));
  if (fault) return relapsed(data, fault, at);
  return rungOf(data)?.verify === undefined ? onProbation(data, data.attempt, at) : asking(data, proof);
}

/** Other faults of an attempt may follow from what its hook did. */
function isOfNewBoot(data: RemedyData, { begunAt, before }: Attempt, { kernel, seenAt }: Fault): boolean {
  const isRebooted = rungOf(data)?.proof.includes('rebooted') === true;
  return isRebooted && kernel !== undefined && kernel.bootId !== before?.bootId && Date.parse(seenAt) >= begunAt;
}

function onProbation(data: RemedyData, attempt: Attempt, at: number): RemedyState {
  const until = at + data.input.ladder.probationMs;
  const because = attempt.verified ?? attempt.proof ?? '';
  return { ...data, phase: 'probation', until, attempt, because };
}

function lookedBeforeVerification(state: Verifying, { view, at }: RemedyEventOf<'machineObserved'>): RemedyState {
  if (state.step !== 'looking') return state;
  const other = whyOther(state, view);
  return other === undefined ? { ...state, step: 'running' } : cancelled(state, other, at);
}

/** Only a test that ran and passed is a pass. */
function verificationEnded(state: Verifying, { operation, result, at }: RemedyEventOf<'hookEnded'>): RemedyState {
  const { attempt, step } = state;
  if (step !== 'running' || operation !== verificationOf(state)) return state;
  const { verdict, because } = result;
  switch (verdict) {
    case 'passed':
      return onProbation(state, { ...attempt, verified: `${rungOf(state)?.verify ?? ''}: ${because}` }, at);
    case 'busy':
      return delayed(state, because, at);
    case 'failed':
    case 'unknown':
      return failed(state, { outcome: 'not-verified', because, at }, verdict === 'failed');
  }
}

/** Name of the run of the hook that verifies. */
export const verificationOf = (state: Verifying): string =>
  operationOf(state, `v${state.attempt.number}-${state.attempt.checks}`);

function probationEnded(
  state: InPhase<RemedyState, 'probation'>,
  { view, at }: RemedyEventOf<'probationEnded'>,
): RemedyState {
  const { attempt, input } = state;
  const other = whyOther(state, view);
  if (!view || other !== undefined) return cancelled(state, other ?? '', at);
  if (!view.ready)
    return failed(
      state,
      { outcome: 'relapsed', because: 'the node is not ready at the end of its probation', at },
      false,
    );
  return cured(state, attempt, input.ladder, at);
}

/** While nothing is proven, faults may follow from the hook, so they are only remembered. */
function faultsObserved(before: RemedyState, { faults, dropped, at }: RemedyEventOf<'faultsObserved'>): RemedyState {
  const known = new Set(before.faults.map(({ id }) => id));
  const state = remembered(before, faults, dropped);
  const { attempt } = state;
  if (attempt?.provenAt === undefined) return state;
  const since = attempt.provenAt;
  const fault = faults.find(
    (one) => !known.has(one.id) && (Date.parse(one.seenAt) >= since || isOfNewBoot(state, attempt, one)),
  );
  return fault ? relapsed(state, fault, at) : state;
}
