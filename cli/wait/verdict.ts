/** Whether a job meets a condition that a person waits for. Pure. */

import { jobTitle } from '../../contract/job/jobs.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';

export const conditions = ['protected', 'recovered', 'idle'] as const;
export type Condition = (typeof conditions)[number];

/** The workflow of a job. */
export interface JobLook {
  readonly isRunning: boolean;
  readonly status: JobStatus;
}

/** `otherwise`: it does not hold, and waiting longer is of no use. */
export interface Verdict {
  readonly kind: 'holds' | 'not-yet' | 'otherwise';
  readonly because: string;
  readonly incident?: string;
}

/** `ignored`: the incident that had ended before, if any. */
export function judge(condition: Condition, { isRunning, status }: JobLook, ignored: string | undefined): Verdict {
  const now = `${status.phase}: ${status.because}`;
  if (condition === 'protected')
    return { kind: isRunning && !['starting', 'ended'].includes(status.phase) ? 'holds' : 'not-yet', because: now };
  const { last } = status;
  if (!isRunning && status.phase !== 'ended')
    return { kind: 'otherwise', because: `the workflow of ${jobTitle(status.job)} was ended from outside` };
  if (!isSettled(status)) return { kind: 'not-yet', because: now };
  if (condition === 'idle') return { kind: 'holds', because: now };
  if (last && last.incident !== ignored) {
    const { incident, outcome, because } = last;
    return { kind: runsAgain(outcome) ? 'holds' : 'otherwise', because: `${outcome}: ${because}`, incident };
  }
  return isRunning
    ? { kind: 'not-yet', because: `no incident has ended since; ${now}` }
    : { kind: 'otherwise', because: now };
}

/** No incident is open, and none is about to open: faults that wait are judged in the other phases. */
const isSettled = ({ incident, phase }: JobStatus): boolean =>
  incident === undefined && ['watching', 'paused', 'refused', 'ended'].includes(phase);

const runsAgain = (outcome: NonNullable<JobStatus['last']>['outcome']): boolean =>
  outcome === 'recovered' || outcome === 'restarted';
