import { condition } from '@temporalio/workflow';
import { allAnnounced, short } from '../proxies.ts';
import type { JobContext } from './context.ts';
import { lookAtOpen } from './recover.ts';
import { isDone, type JobState } from './state.ts';
import { nextStep } from './steps.ts';
import { now } from '../arrivals.ts';

/** How long an open incident may be silent before it is checked. */
const lookAfterMs = 5 * 60_000;

/** Whether the run may end: nothing is left to do, and every Event was written, or given up. */
export const mayClose = (state: JobState): boolean => isDone(state) && allAnnounced();

/** Waits until there is something to do, or until the time of the phase. */
export async function wait(context: JobContext, mayContinue: () => boolean): Promise<void> {
  const { machine, dispatch } = context;
  const { state } = machine;
  const { phase } = state;
  const isDue = () =>
    machine.state.phase !== phase || nextStep(machine.state) !== 'wait' || mayContinue() || mayClose(machine.state);
  const until = (ms: number) =>
    condition(isDue, Math.max(1, ms), { summary: short(`${state.status.phase}: ${state.status.waitingFor}`) });
  switch (phase) {
    case 'waiting':
    case 'refused':
      if (state.isOutdated || !(await until(state.until - now()))) dispatch({ kind: 'waitEnded' });
      return;
    case 'recovering':
    case 'stuck':
      if (!(await until(lookAfterMs))) await lookAtOpen(context, state.open.incident);
      return;
    default:
      await condition(isDue);
  }
}
