/** A sleep that can be cut short. A call that comes before the sleep is not lost. */
export interface AsyncEvent {
  readonly notify: () => void;
  /** Ends after `ms` or at the next `wake`, whatever comes first. */
  readonly wait: (ms: number) => Promise<void>;
}

export function createAsyncEvent(): AsyncEvent {
  let called = false;
  let end: (() => void) | undefined;
  return {
    notify() {
      called = true;
      end?.();
    },
    async wait(ms) {
      if (!called) {
        const { promise, resolve } = Promise.withResolvers<void>();
        end = resolve;
        const timer = setTimeout(resolve, ms);
        await promise;
        clearTimeout(timer);
        end = undefined;
      }
      called = false;
    },
  };
}
