/** The state of one recovery: one serialisable value. Status, details, report and record are made from it. */

import type { AttemptPod, StopMethod } from '../../contract/job/jobs.ts';
import type { AttemptFacts, AwaitResult, RecoveryDecision, RecoveryInput } from '../../contract/recovery/recovery.ts';
import { type End, isGood } from './end.ts';
import type { HoldReason } from './holds.ts';
import { coveredIds, firstIncident, handledIds, type IncidentData } from './incident.ts';
import { firstSteps, type StepName, type StepsData } from './steps/index.ts';
import type { Preparable } from './steps/step.ts';

export type HoldDecision = Extract<RecoveryDecision, { kind: 'hold' }>;
export type StopDecision = Extract<RecoveryDecision, { kind: 'stop' }>;
export type Running = Extract<AwaitResult, { kind: 'running' }>;

export interface RecoveryData extends IncidentData {
  readonly steps: StepsData;
  /** Grows with every phase that begins: the answer of an effect counts only in the phase that asked for it. */
  readonly turn: number;
}

/** What a decision was made from. */
export interface Covers {
  readonly revision: number;
  /** Ids of the faults that it handles. */
  readonly faults: readonly string[];
}

/** A decision that is being prepared or carried out. */
interface Decided<Decision> {
  readonly decision: Decision;
  readonly covers: Covers;
  readonly facts: AttemptFacts;
}

/** One stop, from its first request until its pods are gone. */
export interface Stopping {
  readonly attempt: number;
  readonly by: StopMethod | 'pods';
  readonly pods: readonly AttemptPod[];
  readonly terminating: readonly AttemptPod[];
  /** When the whole stop must be over, ms. */
  readonly until: number;
  /** Deletions by force so far; each forces the pods that the one before found to be lost. */
  readonly rounds: number;
  /** What exceeded its grace period was deleted by force, once. */
  readonly isOverdue: boolean;
  /** In this round, whether or not a kubelet could still end them. */
  readonly immediate: boolean;
  /** What is done in this round, and why. */
  readonly summary: string;
}

/**
 * `deciding`: look at the job, then decide. `held`: nothing is stopped until something changes. `preparing`: a step before the stop.
 * `backing-off`: a stop did nothing; a pause before the next look. `between-attempts`: the attempt is gone, and the next one not allowed yet.
 * `starting` and `placing`: the next attempt is awaited, first with the usual deadline, then for capacity. `ending`: a suspended job is resumed.
 */
export type RecoveryState = RecoveryData &
  (
    | { readonly phase: 'deciding' }
    | {
        readonly phase: 'held';
        readonly decision: HoldDecision;
        readonly covers: Covers;
        readonly reason: HoldReason;
        readonly until?: number | undefined;
      }
    | (Decided<Preparable> & { readonly phase: 'preparing'; readonly step: StepName })
    | (Decided<StopDecision> & { readonly phase: 'stopping'; readonly stop?: Stopping })
    | { readonly phase: 'backing-off'; readonly ms: number }
    | (Decided<StopDecision> & {
        readonly phase: 'between-attempts';
        readonly summary: string;
        readonly isProvenDead: boolean;
      })
    | { readonly phase: 'starting' }
    | { readonly phase: 'placing'; readonly because: string }
    | { readonly phase: 'verifying'; readonly running: Running; readonly runs: string; readonly beyond: number }
    | { readonly phase: 'ending'; readonly end: End; readonly covered: readonly string[] }
    | { readonly phase: 'recording'; readonly end: End; readonly covered: readonly string[]; readonly endedAt: number }
    | { readonly phase: 'ended'; readonly end: End; readonly covered: readonly string[]; readonly endedAt: number }
  );

export type Phase = RecoveryState['phase'];
export type In<P extends Phase> = Extract<RecoveryState, { readonly phase: P }>;

/** What a phase keeps for itself. */
type Own<State> = State extends RecoveryState ? Omit<State, keyof RecoveryData> : never;
type OwnKey = Exclude<
  Own<RecoveryState> extends infer One ? (One extends unknown ? keyof One : never) : never,
  'phase'
>;

const ownKeys = Object.keys({
  decision: true,
  covers: true,
  facts: true,
  reason: true,
  until: true,
  step: true,
  stop: true,
  ms: true,
  summary: true,
  isProvenDead: true,
  because: true,
  running: true,
  runs: true,
  beyond: true,
  end: true,
  covered: true,
  endedAt: true,
} satisfies Record<OwnKey, true>);

export const firstState = (input: RecoveryInput, at: number): RecoveryState => ({
  ...firstIncident(input, at),
  steps: firstSteps,
  turn: 0,
  phase: 'deciding',
});

/** The state in a phase that begins; what the last one kept for itself is dropped. */
export function enter(state: RecoveryData, own: Own<RecoveryState>): RecoveryState {
  const data = Object.fromEntries(
    Object.entries(state).filter(([key]) => !ownKeys.includes(key)),
  ) as unknown as RecoveryData;
  return { ...data, ...own, turn: state.turn + 1 };
}

export const decideAgain = (state: RecoveryData): RecoveryState => enter(state, { phase: 'deciding' });

/** What arrives from here on belongs to the next incident. */
export const enterEnding = (state: RecoveryData, end: End): RecoveryState =>
  enter(state, { phase: 'ending', end, covered: end.unhandled ? handledIds(state) : coveredIds(state, isGood(end)) });
