/** Random events for the machine of a recovery: what its effects, its job and people would dispatch, and late and repeated answers of effects. */

import * as fc from 'fast-check';
import type { RecoveryDecision, StopResult } from '../../contract/recovery/recovery.ts';
import type { VerifyResult } from '../../contract/recovery/verification.ts';
import type { Answer, Message, RecoveryEvent } from '../../workflows/recovery/events.ts';
import { nodesIn } from '../../workflows/recovery/incident.ts';
import { firstState, type RecoveryState } from '../../workflows/recovery/state.ts';
import { recoveryTransitions } from '../../workflows/recovery/transitions.ts';
import { nextState } from '../../workflows/state-machine.ts';
import { job, kernelFault, podFault } from './builders.ts';

const incident = 'recovery/train/llm/job-uid/2026-11-21T07:09:03.117Z';
const limits = {
  attempts: 3,
  holdMs: 1000,
  stopMs: 1000,
  restartMs: 1000,
  placementMs: 1000,
  overdue: 'force',
  verify: { firstMs: 1, stallMs: 1, mostMs: 1 },
} as const;

export const firstRecovery = (): RecoveryState => firstState({ incident, job, faults: [kernelFault()], limits }, 0);

/** A stop of the first attempt has been sent. */
export function firstStop(): RecoveryState {
  const at = 0;
  let state = firstRecovery();
  while (!(state.phase === 'stopping' && state.stop)) {
    state = nextState(recoveryTransitions, state, {
      ...answersIn(state, at, { what: 0, lag: 0 }),
      at,
      turn: state.turn,
    });
  }
  return state;
}

/** Pods of an attempt: their names say which. */
export const podsOf = (attempt: number) =>
  [0, 1, 2].map((rank) => ({ name: `a${attempt}-${rank}`, uid: `a${attempt}-${rank}`, node: `gpu-${rank}` }));

const because = 'a test';
const progress = { step: 100, at: '2026-11-21T07:09:03.117Z' };

/** A choice that fast-check made. `lag`: turns by which an answer comes late. */
interface Choice {
  readonly what: number;
  readonly lag: number;
}

/** One of them; the first is what usually happens. */
const oneOf = <T>(choices: readonly [T, ...T[]], { what }: Choice): T =>
  what % 2 === 0 ? choices[0] : (choices[Math.floor(what / 2) % choices.length] ?? choices[0]);

function decisionIn(attempt: number, at: number, choice: Choice): RecoveryDecision {
  const decided = { because, settings: 'x', at };
  const checkpoint = { strategy: 'none', because } as const;
  const plan = { severity: 'dead', level: { name: 'job', because }, checkpoint, ignored: [] } as const;
  const pods = [`a${attempt}-1`];
  return oneOf<RecoveryDecision>(
    [
      { kind: 'stop', by: 'suspend', plan, ...decided },
      { kind: 'hold', remedy: 'wait', ...decided },
      { kind: 'hold', remedy: 'wait', unobservable: true, ...decided },
      { kind: 'hold', remedy: 'wait', inProcess: { beyond: 1, withinMs: 1 }, ...decided },
      { kind: 'stop', by: 'delete-collection', plan, ...decided },
      {
        kind: 'stop',
        by: 'suspend',
        plan: { ...plan, level: { name: 'pod', pods, withinMs: 1, because } },
        ...decided,
      },
      { kind: 'go-on', ...decided },
      { kind: 'end', outcome: 'cancelled', ...decided },
    ],
    choice,
  );
}

function stopResult(attempt: number, choice: Choice): StopResult {
  const [first, ...others] = podsOf(attempt);
  const pods = first ? [first] : [];
  return oneOf<StopResult>(
    [
      { kind: 'stopped', at: '2026-11-21T07:10:00Z', requests: 1, forced: choice.what % 4 === 0 ? pods : [] },
      { kind: 'lost', because, pods },
      { kind: 'timed-out', because, left: others.map(({ name }) => name) },
      { kind: 'interfered', because },
      { kind: 'unsent', because },
    ],
    choice,
  );
}

/** What the effect of the phase would answer. The attempt that runs is the one after the last stop; late answers are about an earlier one. */
function answersIn(state: RecoveryState, at: number, choice: Choice): Answer {
  const attempt = Math.max(1, state.stops.length + 1 - choice.lag);
  const facts = {
    pods: podsOf(attempt),
    terminating: [],
    nodes: [],
    undecided: [],
    at,
    ...(choice.what % 8 === 1 && { at: at - 9000 }),
  };
  switch (state.phase) {
    case 'deciding': {
      const covers = {
        revision: state.revision,
        faults: nodesIn(state).length > 0 ? state.faults.map(({ id }) => id) : [],
      };
      const decided: Answer = {
        kind: 'decided',
        decision: decisionIn(attempt, at, choice),
        facts,
        covers,
        isPaused: choice.what % 3 === 1,
      };
      return oneOf<Answer>(
        [
          decided,
          { kind: 'lookStarted' },
          decided,
          { kind: 'attemptObserved', job: { progress, gpus: 8, optedInAt: '2026-11-21T07:00:00Z' } },
          { kind: 'lookOutdated' },
        ],
        choice,
      );
    }
    case 'held':
      return oneOf<Answer>(
        [{ kind: 'lookOutdated' }, { kind: 'holdStarted' }, { kind: 'subscribed' }, { kind: 'holdExpired' }],
        choice,
      );
    case 'preparing':
      return oneOf<Answer>(
        [
          { kind: 'prepared', result: 'ready' },
          { kind: 'asked', name: 'stop', approval: { because, withinMs: 5, otherwise: 'approve', at } },
          { kind: 'answerAwaited', name: 'stop' },
          { kind: 'questionDropped', name: 'stop' },
          { kind: 'waited', ms: 10 },
          { kind: 'processesAsked' },
          { kind: 'prepared', result: 'look again' },
          { kind: 'prepared', result: { outcome: 'refused', because } },
        ],
        choice,
      );
    case 'stopping':
      if (!state.stop)
        return oneOf<Answer>(
          [
            { kind: 'stopStarted', facts: choice.lag === 0 ? state.facts : facts },
            { kind: 'othersFound' },
            { kind: 'lookOutdated' },
          ],
          choice,
        );
      return oneOf<Answer>(
        [
          { kind: 'stopAnswered', result: stopResult(attempt, choice) },
          { kind: 'stopStarted', facts },
          { kind: 'stopAnswered', result: { kind: 'lost', because, pods: podsOf(attempt).slice(0, 1) } },
        ],
        choice,
      );
    case 'backing-off':
      return { kind: 'lookOutdated' };
    case 'between-attempts':
      return state.suspended && choice.what % 3 > 0 ? { kind: 'resumed' } : { kind: 'attemptReleased' };
    case 'starting':
    case 'placing':
      return oneOf<Answer>(
        [
          { kind: 'attemptAwaited', result: 'changed' },
          { kind: 'attemptAwaited', result: { kind: 'overdue', because } },
          {
            kind: 'attemptAwaited',
            result: { kind: 'running', at: 'x', pods: podsOf(attempt), startedAt: 'x', misplaced: 0 },
          },
          { kind: 'attemptAwaited', result: { kind: 'ended', outcome: 'failed', because } },
        ],
        choice,
      );
    case 'verifying':
      return {
        kind: 'progressAwaited',
        result: oneOf<VerifyResult | 'changed'>(
          [{ kind: 'unverified', because }, { kind: 'verified', progress, because }, 'changed'],
          choice,
        ),
      };
    case 'ending':
      return state.suspended && choice.what % 3 > 0
        ? { kind: 'resumed' }
        : { kind: 'settled', ...(choice.what % 5 === 4 && { failed: 'it could not be resumed' }) };
    case 'recording':
    case 'ended':
      return { kind: 'recorded' };
  }
}

const pod = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 2 }));

const messages: fc.Arbitrary<Message> = fc.oneof(
  fc.integer({ min: 1, max: 4 }).map((sequence): Message => ({
    kind: 'faultsObserved',
    faults: [kernelFault({ id: `kernel/boot-1/${sequence}` })],
  })),
  pod.map(([attempt, rank]): Message => {
    const { name, uid } = podsOf(attempt)[rank] ?? { name: 'x', uid: 'x' };
    return {
      kind: 'faultsObserved',
      faults: [podFault({ id: `pod/${uid}`, pod: { name, uid, createdAt: '2026-11-21T06:00:00Z' } })],
    };
  }),
  fc.constant<Message>({ kind: 'recheckRequested' }),
  fc.constantFrom<Message>({ kind: 'pauseChanged' }, { kind: 'pauseChanged', paused: { by: 'ada', reason: because } }),
  fc.constant<Message>({ kind: 'interrupted', end: { outcome: 'cancelled', because: 'cancelled' } }),
);

/** A person answers what is open; now and then there is nothing to answer. */
const answers = fc.tuple(fc.boolean(), fc.nat({ max: 9 })).map(
  ([approved, chance]) =>
    ({ questions }: RecoveryState): Message =>
      questions.open !== undefined || chance === 0
        ? { kind: 'questionAnswered', given: { approved, by: 'ada', reason: because } }
        : { kind: 'recheckRequested' },
);

const choices: fc.Arbitrary<Choice> = fc.record({
  what: fc.nat({ max: 1000 }),
  lag: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) }),
});

type Events = fc.Arbitrary<readonly ((state: RecoveryState, step: number) => RecoveryEvent)[]>;

/** A node that comes and goes: pods are lost in every round of a stop. */
export const lostPods: Events = fc.array(
  fc.constant(({ turn }: RecoveryState, at: number): RecoveryEvent => ({
    kind: 'stopAnswered',
    result: { kind: 'lost', because, pods: podsOf(1).slice(0, 1) },
    at,
    turn,
  })),
  { maxLength: 12, size: 'max' },
);

/** Another client changes the job whenever a stop is sent. */
export const interference: Events = fc.array(
  fc.constant((state: RecoveryState, at: number): RecoveryEvent => {
    const isSent = state.phase === 'stopping' && state.stop !== undefined;
    const answer = isSent
      ? { kind: 'stopAnswered' as const, result: { kind: 'interfered' as const, because } }
      : answersIn(state, at, { what: 0, lag: 0 });
    return { ...answer, at, turn: state.turn };
  }),
  { maxLength: 90, size: 'max' },
);

/** Mostly answers, as a recovery that gets on has them. */
export const recoveryEvents: Events = fc.array(
  fc.oneof(
    {
      weight: 12,
      arbitrary: choices.map((choice) => (state: RecoveryState, at: number): RecoveryEvent => ({
        ...answersIn(state, at, choice),
        turn: state.turn - choice.lag,
        at,
      })),
    },
    {
      weight: 1,
      arbitrary: messages.map((message) => (_state: RecoveryState, at: number): RecoveryEvent => ({ ...message, at })),
    },
    {
      weight: 1,
      arbitrary: answers.map((answer) => (state: RecoveryState, at: number): RecoveryEvent => ({
        ...answer(state),
        at,
      })),
    },
  ),
  // Without `size`, most sequences have fewer than ten events.
  { maxLength: 60, size: 'max' },
);
