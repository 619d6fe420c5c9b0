/** Missing observations are reported as a fact, and never taken for evidence. */

import { setTimeout as sleep } from 'node:timers/promises';
import { KcoverError } from '../contract/errors.ts';

/** A short outage is waited out without a report, ms. */
const outageMs = 8000;
const pauseMs = 500;

/** Retries while the cluster or Temporal does not answer; after a while it returns that nothing can be observed, and why. */
export async function observeOrElse<T>(look: () => Promise<T>, unobservable: (because: string) => T): Promise<T> {
  const started = performance.now();
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof KcoverError) || !error.transient) throw error;
      const left = outageMs - (performance.now() - started);
      if (left <= 0) return unobservable(`${error.message}: ${error.because}`);
      await sleep(Math.min(left, error.retryAfterMs ?? pauseMs));
    }
  }
}
