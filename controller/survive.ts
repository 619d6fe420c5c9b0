/** Timers: what is thrown in one has nobody above it, and would end the process. */

import type { Logger } from 'pino';

/** Acts. A defect is logged, with what it is `about`, and ends nothing else. */
export function survive(log: Pick<Logger, 'error'>, doing: string, about: object, act: () => void): void {
  try {
    act();
  } catch (error) {
    log.error({ err: error, ...about }, `defect: ${doing}`);
  }
}
