import type { Announcement } from '../../contract/wire/activities.ts';
import type { eventReasons } from '../../contract/ids.ts';
import type { Answer } from './events.ts';
import type { In, Phase, RecoveryState } from './state.ts';
import type { Tools } from './tools.ts';

/** A Kubernetes Event on the job. `key`: the same again is the same Event. */
export interface EventForPeople extends Pick<Announcement, 'type' | 'message'> {
  readonly reason: keyof typeof eventReasons;
  readonly key?: string;
}

/** What the effect of a phase is given. */
export interface Recovery {
  /** As it is now. */
  readonly state: RecoveryState;
  /** Dispatches an answer that does not end the phase's effect; returns the state after it. */
  dispatch(answer: Answer): RecoveryState;
  /** Nothing waits for these. */
  announce(type: EventForPeople['type'], reason: EventForPeople['reason'], message: string): void;
  announceAll(events: readonly EventForPeople[]): void;
  readonly tools: Tools;
}

/** What a phase does outside of the workflow. It is run again where its answer does not change the phase. */
export type Effect<P extends Phase> = (recovery: Recovery, state: In<P>) => Promise<Answer>;
