/** An event that is set by every change. Setting it while nobody waits is not lost; several at once count as one. */
export class AsyncEvent {
  #rung = false;
  #listener: (() => void) | undefined;

  notify(): void {
    this.#rung = true;
    this.#listener?.();
  }

  /** Waits until it is set, at most this long; rejects when the signal aborts first. */
  async wait(withinMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const signalled = Promise.withResolvers<void>();
    const abort = () => signalled.reject(signal.reason);
    const timer = setTimeout(signalled.resolve, Math.min(withinMs, 2 ** 31 - 1));
    signal.addEventListener('abort', abort);
    this.#listener = () => setImmediate(signalled.resolve);
    if (this.#rung) this.#listener();
    try {
      await signalled.promise;
    } finally {
      this.#rung = false;
      this.#listener = undefined;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }
}
