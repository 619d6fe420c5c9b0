import { eventReasons } from '../../contract/ids.ts';
import { iso } from '../../contract/settings/duration.ts';
import { announce } from '../proxies.ts';
import { signalPause } from './child.ts';
import type { JobContext } from './context.ts';
import { now } from '../arrivals.ts';

/** Notifies people, and an open recovery, of the oldest pause or resume that they do not know. */
export async function reportPause({ job, machine, dispatch }: JobContext): Promise<void> {
  const { open, paused, pauseChanges } = machine.state;
  const [change] = pauseChanges;
  if (!change) return;
  if (open?.started) await signalPause(open.incident, paused);
  dispatch({ kind: 'pauseReported' });
  const message = `${change.what} by ${change.by}: ${change.reason}`;
  void announce({
    about: { kind: 'job', job },
    type: 'Normal',
    reason: eventReasons.jobPaused,
    message,
    key: `${job.uid}/${iso(now())}/${message}`,
  });
}
