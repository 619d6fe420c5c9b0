import { type Timer, startTimer } from '../timer.ts';
import { type PreflightState, timersOf } from './state.ts';
import type { Arrival } from './transitions.ts';
import { now } from '../arrivals.ts';

/** Starts the timers of a state that do not run yet, and stops those that it has no longer. */
export function timerControl(dispatch: (event: Arrival) => void): (state: PreflightState) => void {
  const running = new Map<string, Timer>();
  return (state) => {
    const wanted = timersOf(state).map((one) => ({ ...one, key: `${one.name}/${one.timer.id}` }));
    for (const [key, timer] of running) {
      if (wanted.some((one) => one.key === key)) continue;
      timer.stop();
      running.delete(key);
    }
    for (const { key, name, summary, timer } of wanted) {
      if (running.has(key)) continue;
      const fired = () => dispatch({ kind: 'timerFired', timer: name, id: timer.id, at: now() });
      running.set(key, startTimer(timer.at - now(), summary, fired));
    }
  };
}
