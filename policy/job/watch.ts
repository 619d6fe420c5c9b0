/** How a change of a job object affects its workflow. */

import { jobWorkflowId } from '../../contract/ids.ts';
import type { JobRef, JobView } from '../../contract/job/jobs.ts';
import type { JobObserved } from '../../contract/wire/messages.ts';

/** The part of a job object that matters for its supervision. */
export type WatchedJob = Pick<JobView, 'ref' | 'optedIn' | 'finished'> & {
  /** It has the label `kcover.io/need-recovery: "true"`. */
  readonly wantsRecovery: boolean;
};

export type JobStep =
  /** Supervised for the first time: make sure that its workflow runs. */
  | { readonly kind: 'start' }
  | { readonly kind: 'notify'; readonly observed: JobObserved }
  /** A person requests a recovery by label. */
  | { readonly kind: 'recover' }
  /** The same on a job that is not opted in. */
  | { readonly kind: 'ignore-label'; readonly because: string };

/** Opted in and not finished. */
const supervised = (job: WatchedJob | undefined): boolean => job !== undefined && job.optedIn && !job.finished;

/** Steps in the order in which they must be done. `before` and `now` have the same UID; absent: the object does not exist. */
export function foldJob(before: WatchedJob | undefined, now: WatchedJob | undefined): readonly JobStep[] {
  return [...supervision(before, now), ...recoveryLabel(before, now)];
}

function supervision(before: WatchedJob | undefined, now: WatchedJob | undefined): readonly JobStep[] {
  if (supervised(before)) return supervised(now) ? [] : [{ kind: 'notify', observed: endOf(now) }];
  if (!supervised(now)) return [];
  return before ? [{ kind: 'notify', observed: { change: 'opted-in' } }] : [{ kind: 'start' }];
}

/** Why a job is no longer supervised. */
export function endOf(now: WatchedJob | undefined): JobObserved {
  if (!now) return { change: 'gone', because: 'the job object is gone' };
  if (now.finished) return { change: 'finished', because: `${now.finished.as}: ${now.finished.because}`.slice(0, 500) };
  return { change: 'opted-out', because: 'the job no longer has the opt-in label' };
}

function recoveryLabel(before: WatchedJob | undefined, now: WatchedJob | undefined): readonly JobStep[] {
  if (!now?.wantsRecovery) return [];
  if (supervised(now)) return supervised(before) && before?.wantsRecovery ? [] : [{ kind: 'recover' }];
  if (before?.wantsRecovery) return [];
  return [{ kind: 'ignore-label', because: now.finished ? 'the job has finished' : 'the job is not opted in' }];
}

/** Running job workflows whose job is no longer supervised, each with the signal to send. `ids` are `job/<namespace>/<name>/<uid>`. */
export function findStrays(
  ids: readonly string[],
  jobs: readonly WatchedJob[],
): readonly { readonly workflowId: string; readonly observed: JobObserved }[] {
  const byUid = new Map(jobs.map((job) => [job.ref.uid, job]));
  return ids.flatMap((workflowId) => {
    const job = byUid.get(workflowId.split('/')[3] ?? '');
    return supervised(job) ? [] : [{ workflowId, observed: endOf(job) }];
  });
}

/** Supervised jobs whose workflow does not run, because it was terminated or cancelled. `running`: ids of workflows. */
export function findUnsupervised(running: readonly string[], jobs: readonly WatchedJob[]): readonly JobRef[] {
  const ids = new Set(running);
  return jobs.filter((job) => supervised(job) && !ids.has(jobWorkflowId(job.ref))).map(({ ref }) => ref);
}
