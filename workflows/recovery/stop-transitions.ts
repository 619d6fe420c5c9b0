/** One stop until its end. Pods that no kubelet ends any more are deleted by force, after that intent is in history. Pure. */

import type { AttemptPod } from '../../contract/job/jobs.ts';
import type { StopResult } from '../../contract/recovery/recovery.ts';
import type { EventOf } from './events.ts';
import { attemptOf, counted, notProvenDead, noted, type PodLevel, showing } from './incident.ts';
import { enter, enterEnding, type In, type RecoveryState, type StopDecision, type Stopping } from './state.ts';
import { changedSteps } from './steps/index.ts';

/** Stops in a row that did nothing, because the job changed since the look or the stop could not be sent, until a person is asked. Pauses between them grow up to a minute. */
const mostInterferences = 8;

/** Pause between a stop that did nothing and the next look, ms: another client changed the job, or the stop could not be sent. */
const again = { interfered: 200, unsent: 5000 } as const;

/** A node that comes and goes saves its pods and loses them again; after this many rounds a person is asked. */
const mostRounds = 5;

/** Doubles from `first`, up to 40 s: a day in which nothing can be observed stays far below the history limit. */
export const pauseAfter = (times: number, first: number): number => Math.min(first * 2 ** (times - 1), 40_000);

type Done = Extract<StopResult, { kind: 'stopped' }>;

/** Only these pods are stopped; the rest of the attempt keeps running. */
const levelOf = ({ plan }: StopDecision): PodLevel | undefined => (plan?.level.name === 'pod' ? plan.level : undefined);

/** Its intent is recorded before anything is sent. */
export function stopStarted(state: In<'stopping'>, { facts, at }: EventOf<'stopStarted'>): RecoveryState {
  const { decision } = state;
  if (state.stop) return state;
  const level = levelOf(decision);
  const by = level ? 'pods' : decision.by;
  const pods = level ? facts.pods.filter(({ uid }) => level.pods.includes(uid)) : facts.pods;
  const until = decision.at + state.input.limits.stopMs;
  const attempt = attemptOf(state);
  const stop: Stopping = {
    attempt,
    by,
    pods,
    terminating: level ? [] : (facts.terminating ?? []),
    until,
    rounds: 0,
    isOverdue: false,
    immediate: false,
    summary: `stop attempt ${attempt} (${counted({ pods })}) by ${by}: ${decision.because}`,
  };
  const shown = showing(state, at, 'stopping', {
    because: decision.because,
    waitingFor: `${counted({ pods })} to be gone`,
    until,
  });
  return {
    ...shown,
    facts,
    stop,
    suspended: state.suspended || by === 'suspend',
    stopsStarted: state.stopsStarted + 1,
  };
}

/** Nothing was sent: the pods of the job keep changing. */
export const othersFound = (state: In<'stopping'>): RecoveryState =>
  backOff(state, 'the pods of the job keep changing', again.interfered);

function backOff(state: RecoveryState, because: string, firstMs: number): RecoveryState {
  const interferences = state.interferences + 1;
  const counted = { ...state, interferences };
  if (interferences >= mostInterferences) return enterEnding(counted, { outcome: 'escalated', because });
  return enter(counted, { phase: 'backing-off', ms: pauseAfter(interferences, firstMs) });
}

export function stopAnswered(before: In<'stopping'>, { result, at }: EventOf<'stopAnswered'>): RecoveryState {
  const { stop } = before;
  if (!stop) return before;
  // After a deletion by force, only these were deleted so.
  const state = stop.rounds > 0 ? { ...before, forcing: 'forced' in result ? (result.forced ?? []) : [] } : before;
  const forcing = toForce(state, stop, result);
  if (forcing) return force(state, stop, forcing, at);
  switch (result.kind) {
    case 'lost':
    case 'timed-out':
      return timedOut(state, result.because, 'left' in result ? result.left : result.pods.map(({ name }) => name));
    case 'interfered':
    case 'unsent':
      return notStopped(state, result, at);
    case 'stopped':
      return stopped(state, stop, result, at);
  }
}

interface Forcing {
  readonly pods: readonly AttemptPod[];
  readonly because: string;
  /** Whether or not a kubelet could still end them. */
  readonly immediate: boolean;
}

function toForce(
  { input: { limits } }: RecoveryState,
  { pods, terminating, isOverdue }: Stopping,
  result: StopResult,
): Forcing | undefined {
  if (result.kind === 'lost') return { ...result, immediate: false };
  if (result.kind !== 'timed-out' || limits.overdue !== 'force' || isOverdue) return undefined;
  // Pods that exceeded their grace period. Source: the grace-over-time of Ascend's Volcano plugin.
  const left = new Set(result.left);
  return {
    pods: [...pods, ...terminating].filter(({ name }) => left.has(name)),
    because: result.because,
    immediate: true,
  };
}

/** Another round, as long as there are not too many. */
function force(
  state: In<'stopping'>,
  stop: Stopping,
  { pods, because, immediate }: Forcing,
  at: number,
): RecoveryState {
  const rounds = stop.rounds + 1;
  if (rounds > mostRounds)
    return timedOut(
      state,
      `${because}; that was so ${rounds} times, and each time its node came back`,
      pods.map(({ name }) => name),
    );
  const known = new Set(state.forcing.map(({ uid }) => uid));
  const forcing = [...state.forcing, ...pods.filter(({ uid }) => !known.has(uid))];
  const what = `deleting ${counted({ pods })} by force${immediate ? ', each when its grace period is over' : ''}`;
  const next = {
    ...stop,
    rounds,
    immediate,
    isOverdue: stop.isOverdue || immediate,
    summary: `delete ${counted({ pods })} by force: ${because}`,
  };
  const { decision, facts, covers } = state;
  return enter(noted({ ...state, forcing }, at, what, because), {
    phase: 'stopping',
    decision,
    facts,
    covers,
    stop: next,
  });
}

const timedOut = (state: RecoveryState, because: string, left: readonly string[]): RecoveryState =>
  enterEnding(state, { outcome: 'escalated', because: `${because}: ${left.slice(0, 5).join(', ')}` });

/** Nothing was done: everything is looked at again. */
function notStopped(
  state: In<'stopping'>,
  { kind, because }: Extract<StopResult, { kind: 'interfered' | 'unsent' }>,
  at: number,
): RecoveryState {
  const after = noted(
    { ...state, stopsStarted: state.stopsStarted - 1 },
    at,
    kind === 'unsent' ? 'not sent' : 'looked again',
    because,
  );
  return backOff(
    after,
    kind === 'unsent' ? `the stop could not be sent: ${because}` : 'another client keeps changing the job',
    again[kind],
  );
}

/** The attempt is gone. The whole job was stopped after a gentler level failed, which answers that failure. */
function stopped(
  state: In<'stopping'>,
  { attempt, by, pods, terminating }: Stopping,
  result: Done,
  at: number,
): RecoveryState {
  const { decision, facts, covers, forcing: forced } = state;
  const level = levelOf(decision);
  // Pods that were terminating went with the attempt, though another client had deleted them.
  const went = [...pods, ...(result.late ?? []), ...terminating].map(({ uid }) => uid);
  const gone = [...pods, ...(result.late ?? [])];
  const digest = facts.more && !level ? { digest: facts.more.digest } : {};
  const summary = `attempt ${attempt} stopped`;
  const how = `by ${by}${notProvenDead(forced)}`;
  const after = {
    ...state,
    stops: [
      ...state.stops,
      { attempt, by, at: result.at, pods: gone, ...digest, ...(forced.length > 0 ? { forced } : {}) },
    ],
    stoppedPods: [...new Set([...state.stoppedPods, ...went])],
    remaining: level ? facts.pods.flatMap(({ uid }) => (level.pods.includes(uid) ? [] : [uid])) : [],
    level,
    forcing: [],
    tried: [],
    interferences: 0,
    agedLooks: 0,
    planNoted: false,
    steps: changedSteps(state.steps, { kind: 'attemptStopped' }),
  };
  return enter(noted(after, at, summary, `${counted({ pods: gone })} ${how}`), {
    phase: 'between-attempts',
    decision,
    facts,
    covers,
    summary: `${summary} (${counted({ pods: gone })}) ${how}: ${decision.because}`,
    isProvenDead: forced.length === 0,
  });
}
