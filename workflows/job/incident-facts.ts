/** What a decision about an incident is made from, and what its recovery begins with. Pure. */

import type { JobRef, JobView } from '../../contract/job/jobs.ts';
import type { IncidentFacts, RequestedBy } from '../../contract/job/training-job.ts';
import type { RecoveryInput } from '../../contract/recovery/recovery.ts';
import type { InPhase } from '../state-machine.ts';
import { mayBeOver } from './dismissal-events.ts';
import { faultsFor } from './inbox.ts';
import { overridesIn } from './look.ts';
import type { JobState } from './state.ts';

/** Progress shows whether a job crashes again and again without advancing, or has recovered from an old failure. Its overrides may have changed too. */
export const needsProgress = ({ usage, inbox, judgedAt }: JobState): boolean =>
  usage.some(({ blame }) => blame === 'user') || inbox.some((fault) => mayBeOver(fault, judgedAt));

interface Known {
  readonly job: JobRef;
  readonly state: JobState;
  /** The job object where it was read for this decision. */
  readonly view: JobView | null | undefined;
  readonly asked: RequestedBy | undefined;
  readonly now: number;
}

export function factsOf({ job, state, view, asked, now }: Known): IncidentFacts {
  const { inbox, usage, optedInAt, historyUntil, waitingSince, paused, attemptStartedAt } = state;
  const overrides = view ? overridesIn(view) : state.overrides;
  return {
    job,
    faults: inbox,
    usage,
    optedInAt,
    historyUntil,
    since: waitingSince ?? now,
    now,
    ...(view?.progress ? { progress: view.progress } : {}),
    ...(overrides ? { overrides } : {}),
    ...(paused ? { paused } : {}),
    ...(asked
      ? { askedBy: { by: asked.by, reason: asked.reason, ...(asked.byLabel ? { byLabel: asked.byLabel } : {}) } }
      : {}),
    ...(attemptStartedAt === undefined ? {} : { attemptStartedAt }),
  };
}

/** The recovery that was decided. */
export function recoveryInputOf(job: JobRef, state: InPhase<JobState, 'opening'>): RecoveryInput {
  const { open, limits, paused } = state;
  const { incident, askedBy } = open;
  return {
    incident,
    job,
    faults: faultsFor(job, state),
    limits,
    ...(askedBy ? { askedBy } : {}),
    ...(paused ? { paused } : {}),
  };
}
