/** One effect of a recovery, whose answer decides about the next: the same in the workflow and in `kcover plan`. Pure. */

import type { Effect, EventForPeople, Recovery } from './effects.ts';
import type { Answer, Message } from './events.ts';
import { phases } from './phases/index.ts';
import type { Phase, RecoveryState } from './state.ts';
import type { Tools } from './tools.ts';

/** A recovery under way. */
export interface Running {
  readonly state: RecoveryState;
  dispatch(event: Message | (Answer & { readonly turn: number })): RecoveryState;
  announceAll(events: readonly EventForPeople[]): void;
  readonly tools: Tools;
}

export async function runPhase(running: Running): Promise<void> {
  const { state, tools } = running;
  const { phase, turn } = state;
  if (phase === 'ended') return;
  const effect = phases[phase] as Effect<Phase>;
  const recovery: Recovery = {
    get state() {
      return running.state;
    },
    dispatch: (answer) => running.dispatch({ ...answer, turn }),
    announce: (type, reason, message) => running.announceAll([{ type, reason, message }]),
    announceAll: (events) => running.announceAll(events),
    tools,
  };
  const answer = await effect(recovery, state);
  running.dispatch({ ...answer, turn });
}
