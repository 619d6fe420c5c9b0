/** Blindness as a fact: who cannot look for a while says so, and never takes it for evidence. */

import { setTimeout as sleep } from 'node:timers/promises';
import { KcoverError } from '../contract/errors.ts';

/** A short outage is waited for without a word, ms. */
const outageMs = 8000;
const pauseMs = 500;

/** Looks again while the cluster or Temporal does not answer; after a while the answer is that nothing can be seen, and why. */
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
