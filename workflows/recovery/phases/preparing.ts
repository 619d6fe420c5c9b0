import type { Effect } from '../effects.ts';
import { stepContext } from '../step-context.ts';
import { stepOf } from '../steps/index.ts';

/** One step before the stop. */
export const preparing: Effect<'preparing'> = async (recovery, state) => ({
  kind: 'prepared',
  result: (await stepOf(state.step).before?.(stepContext(recovery, state.step, state))) ?? 'ready',
});
