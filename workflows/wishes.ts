import type { OperatorWish } from '../contract/messages.ts';
import { isObject } from './faults.ts';

/** Validator of an operator's update: who and why are recorded with everything a person does. */
export function requireWish(wish: OperatorWish): void {
  if (!isObject(wish) || typeof wish.by !== 'string' || wish.by === '' || typeof wish.reason !== 'string' || wish.reason === '') {
    throw new Error('`by` and `reason` are needed, such as {"by": "ada", "reason": "replaced the cable"}');
  }
}
