import { CancellationScope, sleep } from '@temporalio/workflow';

/** A timer that goes on while other things happen: news restarts it only where that is wanted, so a thousand of them cost no thousand timers. */
export interface Alarm {
  readonly rang: boolean;
  stop(): void;
}

export function setAlarm(ms: number, summary: string): Alarm {
  const scope = new CancellationScope();
  const alarm = { rang: false, stop: () => scope.cancel() };
  void scope
    .run(() => sleep(Math.max(1, ms), { summary }))
    .then(
      () => {
        alarm.rang = true;
      },
      () => undefined,
    );
  return alarm;
}
