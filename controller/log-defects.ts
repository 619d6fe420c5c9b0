/** For callbacks of timers: an exception in one has no caller, and would end the process. */

import type { Logger } from 'pino';

/** Runs `act`. An exception is logged as a defect, with what it is `about`, and ends nothing else. */
export function logDefects(log: Pick<Logger, 'error'>, doing: string, about: object, act: () => void): void {
  try {
    act();
  } catch (error) {
    log.error({ err: error, ...about }, `defect: ${doing}`);
  }
}
