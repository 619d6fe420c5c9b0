/** Retries for as long as this controller leads. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Undefined when the signal aborted first. */
export async function retryWhileLeading<T>(
  doing: string,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
  act: () => Promise<T>,
): Promise<T | undefined> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      return await act();
    } catch (error) {
      if (signal.aborted) return undefined;
      log.warn({ err: error, failures: failures + 1 }, `cannot ${doing} yet`);
      await pause(Math.min(30_000, 500 * 2 ** Math.min(failures, 10)), signal);
    }
  }
  return undefined;
}

/** Waits, or resolves early without an error when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal, ref: false });
  } catch {
    // Ended early: callers check the signal.
  }
}
