/** Everything that can happen to a recovery, in past tense. Pure. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { OperatorAnswer } from '../../contract/recovery/plan.ts';
import type {
  AttemptFacts,
  AwaitResult,
  RecoveryDecision,
  RecoveryStatus,
  StopResult,
} from '../../contract/recovery/recovery.ts';
import type { VerifyResult } from '../../contract/recovery/verification.ts';
import type { End } from './end.ts';
import type { JobBefore, Showing } from './incident.ts';
import type { Asking, GivenAnswer } from './questions.ts';
import type { Covers } from './state.ts';
import type { StepName } from './steps/index.ts';
import type { IncidentChange, Prepared } from './steps/step.ts';

/** Signals and updates. */
export type Message =
  | { readonly kind: 'faultsObserved'; readonly faults: readonly Fault[] }
  | { readonly kind: 'recheckRequested' }
  | { readonly kind: 'pauseChanged'; readonly paused?: OperatorRequest | undefined }
  | { readonly kind: 'questionAnswered'; readonly given: GivenAnswer }
  /** It was cancelled, or an activity failed for good. */
  | { readonly kind: 'interrupted'; readonly end: End };

/** Answers of what a phase does. */
export type Answer =
  | { readonly kind: 'lookStarted' }
  | { readonly kind: 'attemptObserved'; readonly job?: JobBefore | undefined }
  /** Another look is needed: something changed, or may have. */
  | { readonly kind: 'lookOutdated' }
  | {
      readonly kind: 'decided';
      readonly decision: RecoveryDecision;
      readonly facts: AttemptFacts;
      readonly covers: Covers;
      readonly isPaused: boolean;
    }
  | { readonly kind: 'holdStarted' }
  | { readonly kind: 'subscribed' }
  | { readonly kind: 'holdExpired' }
  | { readonly kind: 'denied'; readonly answer: OperatorAnswer }
  | { readonly kind: 'stepChanged'; readonly step: StepName; readonly change: { readonly kind: string } }
  | { readonly kind: 'happened'; readonly what: string; readonly because?: string | undefined }
  | { readonly kind: 'shown'; readonly phase: RecoveryStatus['phase']; readonly words: Showing }
  | { readonly kind: 'asked'; readonly name: string; readonly approval: Asking }
  | { readonly kind: 'answerAwaited'; readonly name: string }
  | IncidentChange
  | { readonly kind: 'prepared'; readonly result: Prepared }
  /** The facts name every pod. */
  | { readonly kind: 'stopStarted'; readonly facts: AttemptFacts }
  /** Other pods run than those that the stop was decided for: nothing was sent. */
  | { readonly kind: 'othersFound' }
  | { readonly kind: 'stopAnswered'; readonly result: StopResult }
  | { readonly kind: 'resumed' }
  | { readonly kind: 'attemptReleased' }
  | { readonly kind: 'attemptAwaited'; readonly result: AwaitResult | 'changed' }
  | { readonly kind: 'progressAwaited'; readonly result: VerifyResult | 'changed' }
  /** The job runs on, or is gone; or it could not be resumed, and why that matters. */
  | { readonly kind: 'settled'; readonly failed?: string | undefined }
  | { readonly kind: 'recorded' };

/** `at`: ms. `turn`: of the phase that an answer belongs to. */
export type RecoveryEvent = { readonly at: number } & (Message | (Answer & { readonly turn: number }));

export type EventOf<Kind extends RecoveryEvent['kind']> = Extract<RecoveryEvent, { readonly kind: Kind }>;
