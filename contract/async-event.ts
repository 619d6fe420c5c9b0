/**
 * An event that one task waits for and others set. Each wait resets it, so several notifications before a wait count as one, and a
 * notification while no task waits ends the next wait.
 */
export class AsyncEvent {
  #isSet = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#isSet = true;
    this.#wake?.();
  }

  /** Waits until the event is set, or for `timeoutMs`. Rejects with the signal's reason when that aborts first. */
  async wait(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => reject(signal?.reason);
    const timer = setTimeout(resolve, Math.min(timeoutMs, longestTimerMs));
    signal?.addEventListener('abort', abort);
    // Not at once: notifications of the same turn of the event loop then end one wait, not two.
    this.#wake = () => setImmediate(resolve);
    if (this.#isSet) this.#wake();
    try {
      await promise;
    } finally {
      this.#isSet = false;
      this.#wake = undefined;
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }
}

/** Node fires a longer timer at once. */
const longestTimerMs = 2 ** 31 - 1;
