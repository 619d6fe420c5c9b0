/** What a look at the job object means for its workflow. */

import type { JobOverrides } from '../../contract/job/job-overrides.ts';
import type { JobRef, JobView } from '../../contract/job/jobs.ts';
import type { JobOutcome } from '../../contract/job/training-job.ts';

/** The settings that the job's workflow uses itself; the recovery reads the others anew. */
export function overridesIn(view: JobView | null): Pick<JobOverrides, 'retries' | 'hang' | 'suppression'> | undefined {
  const { retries, hang, suppression } = view?.overrides ?? {};
  return retries === undefined && hang === undefined && suppression === undefined
    ? undefined
    : { ...(retries !== undefined && { retries }), ...(hang && { hang }), ...(suppression && { suppression }) };
}

/** How it ended for kcover; undefined while it is to be looked after. */
export function endOf(view: JobView | null, job: JobRef): JobOutcome | undefined {
  if (view === null) return { job, outcome: 'gone', because: 'the job object is gone' };
  if (view.finished) return { job, outcome: view.finished.as, because: view.finished.because };
  if (!view.optedIn) return { job, outcome: 'opted-out', because: 'its opt-in label no longer says true' };
  return undefined;
}
