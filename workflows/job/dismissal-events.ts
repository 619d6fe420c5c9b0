/** Faults that may need no recovery, and the Events for dismissed faults and refused recoveries. */

import type { Announcement } from '../../contract/wire/activities.ts';
import { type Fault, trainingHangs } from '../../contract/faults/faults.ts';
import { eventReasons } from '../../contract/ids.ts';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import type { IncidentDecision } from '../../contract/job/training-job.ts';
import { iso } from '../../contract/settings/duration.ts';

/** A failure that waited this long may be over, ms: its job is read before an incident opens. */
const oldMs = 5 * 60_000;

/** Whether the job's progress may show that a fault is over. `now`: a recorded time, because commands follow from it. */
export const mayBeOver = ({ code, pod, seenAt }: Fault, now: number): boolean =>
  code === trainingHangs || (pod !== undefined && Date.parse(seenAt) < now - oldMs);

/** One Event for each training hang, each slowdown, and each selected line of a log; one per job for failures from before its opt-in, because the key is the same again. */
export function dismissalEvents(job: JobRef, dismissed: IncidentDecision['dismissed']): readonly Announcement[] {
  const warning = { about: { kind: 'job', job }, type: 'Warning' } as const;
  const hangs = dismissed
    .filter(({ notify }) => notify === 'hang')
    .map(({ id, because }) => ({ ...warning, reason: eventReasons.trainingHangs, message: because, key: id }));
  const recover = `kcover recover ${jobTitle(job)} -n ${job.namespace} --reason "..."`;
  const slow = dismissed
    .filter(({ notify }) => notify === 'slow')
    .map(({ id, because }) => ({
      ...warning,
      reason: eventReasons.trainingSlow,
      message: `${because}; nothing is done about it; a restart tests its nodes first, where its pods have a preflight: ${recover}`,
      key: id,
    }));
  const lines = dismissed
    .filter(({ notify }) => notify === 'line')
    .map(({ id, because }) => ({ ...warning, reason: eventReasons.podLogLine, message: because, key: id }));
  const [oldest, ...more] = dismissed.filter(({ notify }) => notify === 'history');
  if (!oldest) return [...hangs, ...slow, ...lines];
  const which = `${oldest.because}${more.length > 0 ? ` (and ${more.length} more)` : ''}`;
  const message = `failed before kcover began to look after the job, so it is ignored: ${which}; if training makes no progress: ${recover}`;
  return [
    ...hangs,
    ...slow,
    ...lines,
    { ...warning, reason: eventReasons.failureBeforeOptIn, message, key: `${job.uid}/history` },
  ];
}

/** The same key again is the same Event. */
export function refusalEvent(
  job: JobRef,
  { because, until, remedy: advice }: Extract<IncidentDecision, { kind: 'refuse' }>,
  key: string,
): Announcement {
  const message = `${because}; until ${iso(until)}, or: ${advice}`;
  return {
    about: { kind: 'job', job },
    type: 'Warning',
    reason: eventReasons.recoveryRefused,
    message,
    key: `${job.uid}/${key}`,
  };
}
