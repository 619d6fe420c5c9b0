import type { OperatorRequest } from '../contract/wire/messages.ts';
import { isObject, textOf } from './faults.ts';

/** Validator of an operator's update: everything a person does is recorded with name and reason. */
export function validateOperatorRequest(request: OperatorRequest): void {
  if (
    !isObject(request) ||
    typeof request.by !== 'string' ||
    request.by === '' ||
    typeof request.reason !== 'string' ||
    request.reason === ''
  ) {
    throw new Error('`by` and `reason` are needed, such as {"by": "ada", "reason": "replaced the cable"}');
  }
}

/** Who paused and why, from a signal; undefined when the pause is over, or the signal cannot be read. */
export function parsePause(payload: unknown): OperatorRequest | undefined {
  const { paused } = isObject(payload) ? payload : {};
  const { by, reason } = isObject(paused) ? paused : {};
  return isObject(paused)
    ? { by: textOf(by) ?? 'an unknown person', reason: textOf(reason) ?? 'no reason given' }
    : undefined;
}
