/** The existing jobs, in memory, and their owners. Owner references are claims: a job is the owner only if it matches all of the reference. */

import type { JobRef, JobView } from '../../contract/job/jobs.ts';
import { isSameJob, jobKey, jobKinds } from '../../kube/jobs/kinds/index.ts';
import type { WatchedJob } from '../../policy/job/watch.ts';

export interface KnownJob extends JobView, WatchedJob {
  /** The job that owns it: that one is responsible for its pods. */
  readonly ownerJob?: JobRef;
}

export interface KnownJobs {
  /** Returns what was known of it before. */
  put(job: KnownJob): KnownJob | undefined;
  /** Returns what was known of it. */
  remove(job: JobRef): KnownJob | undefined;
  /** The job or its topmost known owner: the one that can be stopped. */
  top(job: JobRef): KnownJob | undefined;
  /** The job, and everything that it owns, itself first. */
  family(job: JobRef): readonly KnownJob[];
  all(): readonly KnownJob[];
}

export function openKnownJobs(): KnownJobs {
  const known = new Map<string, KnownJob>();

  function put(job: KnownJob): KnownJob | undefined {
    const before = known.get(jobKey(job.ref));
    known.set(jobKey(job.ref), job);
    return before;
  }

  function remove(ref: JobRef): KnownJob | undefined {
    const before = known.get(jobKey(ref));
    known.delete(jobKey(ref));
    return before;
  }

  /** The recursion ends, because owner kinds have no cycle: see `ownerJobOf`. */
  function top(ref: JobRef): KnownJob | undefined {
    const job = known.get(jobKey(ref));
    return (job?.ownerJob && top(job.ownerJob)) ?? job;
  }

  function family(ref: JobRef): readonly KnownJob[] {
    const job = known.get(jobKey(ref));
    const children = jobKinds[ref.kind].owns
      ? [...known.values()].filter(({ ownerJob }) => ownerJob && isSameJob(ownerJob, ref))
      : [];
    return [...(job ? [job] : []), ...children.flatMap((each) => family(each.ref))];
  }

  return { put, remove, top, family, all: () => [...known.values()] };
}
