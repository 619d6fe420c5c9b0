import { CancellationScope, sleep } from '@temporalio/workflow';

/** A timer that keeps running while other things happen: a change restarts it only where wanted, so a thousand changes cost no thousand timers. */
export interface Timer {
  readonly fired: boolean;
  stop(): void;
}

export function startTimer(ms: number, summary: string, onFired?: () => void): Timer {
  const scope = new CancellationScope();
  const timer = { fired: false, stop: () => scope.cancel() };
  void scope
    .run(() => sleep(Math.max(1, ms), { summary }))
    .then(
      () => {
        timer.fired = true;
        onFired?.();
      },
      () => undefined,
    );
  return timer;
}
