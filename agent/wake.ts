/** A sleep that can be cut short. A call that comes before the sleep is not lost. */
export interface Wake {
  readonly wake: () => void;
  /** Ends after `ms` or at the next `wake`, whatever comes first. */
  readonly sleep: (ms: number) => Promise<void>;
}

export function createWake(): Wake {
  let called = false;
  let end: (() => void) | undefined;
  return {
    wake() {
      called = true;
      end?.();
    },
    async sleep(ms) {
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
