import { CancellationScope, sleep } from '@temporalio/workflow';

/** A timer that goes on while other things happen: news restarts it only where that is wanted, so a thousand of them cost no thousand timers. */
export interface Timer {
  readonly fired: boolean;
  stop(): void;
}

export function startTimer(ms: number, summary: string): Timer {
  const scope = new CancellationScope();
  const timer = { fired: false, stop: () => scope.cancel() };
  void scope
    .run(() => sleep(Math.max(1, ms), { summary }))
    .then(
      () => {
        timer.fired = true;
      },
      () => undefined,
    );
  return timer;
}
