/** Rung by every change; what rings while nobody listens is not lost, and many rings of one moment are one. */
export class Bell {
  #rung = false;
  #listener: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#listener?.();
  }

  /** Waits for a ring, at most so long; rejects when the signal comes first. */
  async next(withinMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const heard = Promise.withResolvers<void>();
    const abort = () => heard.reject(signal.reason);
    const timer = setTimeout(heard.resolve, Math.min(withinMs, 2 ** 31 - 1));
    signal.addEventListener('abort', abort);
    this.#listener = () => setImmediate(heard.resolve);
    if (this.#rung) this.#listener();
    try {
      await heard.promise;
    } finally {
      this.#rung = false;
      this.#listener = undefined;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }
}
