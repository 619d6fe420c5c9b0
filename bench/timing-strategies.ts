/** The cost of each rule for one job, in GPU-hours. */

import type { WorkerSettings } from '../contract/settings/settings.schema.ts';
import { chooseTiming } from '../policy/recovery/timing.ts';
import { type TimedIncident, progressAt, savedMs, trainsMs } from './timing-incident.ts';

export const strategies = ['now', 'after', 'policy', 'bound'] as const;
export type Strategy = (typeof strategies)[number];
export type Costs = Readonly<Record<Strategy, number>>;

/** Loss of a stop before the checkpoint: all work since the last one, and all time since the fault. */
const stopped = ({ done, msPerStep, writtenMs }: TimedIncident, ms: number): number =>
  done * msPerStep + writtenMs + ms;

/** Loss of a stop after it: what the slow node wasted, and the work since. */
const saved = (incident: TimedIncident): number => trainsMs(incident) * (1 - incident.speed) + incident.lagMs;

const lives = (incident: TimedIncident): boolean => savedMs(incident) <= incident.endsMs;

/** The end of a job is detected at once when its pods fail, and by missing steps when it hangs. */
const seenMs = ({ endsMs, hangs }: TimedIncident, stallMs: number): number =>
  endsMs + (hangs && endsMs > 0 ? stallMs : 0);

/** All four costs of the same job. `bound` knows the future. */
export function costsOf(incident: TimedIncident, settings: WorkerSettings['recovery']['checkpoint']): Costs {
  const hours = (ms: number): number => (ms * incident.gpus) / 3_600_000;
  const now = stopped(incident, 0);
  const stallMs = Math.max(5 * 60_000, 10 * incident.msPerStep);
  return {
    now: hours(now),
    after: hours(lives(incident) ? saved(incident) : stopped(incident, seenMs(incident, stallMs))),
    policy: hours(byPolicy(incident, settings)),
    bound: hours(lives(incident) ? Math.min(now, saved(incident)) : now),
  };
}

const epoch = Date.UTC(2026, 10, 21);

/** Decides as a worker does, and again when the node gets worse. */
function byPolicy(incident: TimedIncident, settings: WorkerSettings['recovery']['checkpoint']): number {
  const { gpus, worsensMs } = incident;
  let { severity } = incident;
  let until = Infinity;
  for (let ms = 0; ; ms = worsensMs) {
    const { choice, withinMs, stallMs } = chooseTiming(
      { severity, progress: progressAt(incident, ms, epoch), gpus, now: epoch + ms },
      settings,
    );
    if (choice === 'now') return stopped(incident, ms);
    until = Math.min(until, ms + withinMs);
    const end = Math.min(until, lives(incident) ? Infinity : seenMs(incident, stallMs));
    const save = lives(incident) ? savedMs(incident) : Infinity;
    if (severity === 'slow' && worsensMs < Math.min(end, save)) severity = 'degrading';
    else return save <= end ? saved(incident) : stopped(incident, end);
  }
}
