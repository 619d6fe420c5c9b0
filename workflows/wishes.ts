import type { OperatorWish } from '../contract/messages.ts';
import type { Held } from '../contract/recovery.ts';
import { isObject, textOf } from './faults.ts';

/** Validator of an operator's update: who and why are recorded with everything a person does. */
export function requireWish(wish: OperatorWish): void {
  if (!isObject(wish) || typeof wish.by !== 'string' || wish.by === '' || typeof wish.reason !== 'string' || wish.reason === '') {
    throw new Error('`by` and `reason` are needed, such as {"by": "ada", "reason": "replaced the cable"}');
  }
}

/** Who paused and why, as a signal says it; undefined when it says that the pause is over, or nothing that can be read. */
export function heldOf(payload: unknown): Held | undefined {
  const { paused } = isObject(payload) ? payload : {};
  const { by, reason } = isObject(paused) ? paused : {};
  return isObject(paused) ? { by: textOf(by) ?? 'somebody', reason: textOf(reason) ?? 'no reason given' } : undefined;
}
