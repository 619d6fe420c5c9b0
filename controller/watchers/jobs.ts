/** Watches the jobs of every kind: each one that is opted in has a workflow, and hears of its end. */

import { labels } from '../../contract/ids.ts';
import { type JobRef, jobTitle, type JobView, type PodRole } from '../../contract/jobs.ts';
import { type JobKindEntry, jobKinds, makerOf, type QuarantineTaint, watchPath } from '../../kube/job-kinds/index.ts';
import { findStrays, foldJob, type JobSeen, type JobStep } from '../../policy/job-watch.ts';
import { jobEndLetter, type Letter, optedInLetter, startLetter, wishLetter } from '../letters.ts';
import type { Workflows } from '../temporal.ts';
import { follow, post, type Watching } from './follow.ts';
import { persist } from './persist.ts';

type JobObject = Parameters<JobKindEntry['view']>[0];
export interface KnownJob extends JobView, JobSeen {
  /** Whose success is the success of the job; absent where all have to succeed. */
  readonly succeedsWith?: PodRole;
  /** The job that made it: what happens to its pods is that one's business. */
  readonly maker?: JobRef;
}

export interface JobsWatch {
  /** The job of this UID, or the one that it was made by: the one that can be stopped. */
  get(uid: string): KnownJob | undefined;
  /** Resolves when the jobs of every kind were listed. */
  readonly synced: Promise<unknown>;
  /** Resolves when the jobs of every kind were listed and workflows of jobs that are no more were told. */
  readonly settled: Promise<void>;
}

export interface JobsOptions extends Watching {
  readonly taint: QuarantineTaint;
  readonly workflows: Workflows;
  /** After every change of a job, also for those that it made. */
  readonly onJob: (job: KnownJob) => void;
  readonly onGone: (job: KnownJob) => void;
}

export function watchJobs(options: JobsOptions): JobsWatch {
  const known = new Map<string, KnownJob>();
  const top = (uid: string): KnownJob | undefined => {
    const job = known.get(uid);
    return (job?.maker && top(job.maker.uid)) ?? job;
  };
  function tell(job: KnownJob): void {
    options.onJob(job);
    if (jobKinds[job.ref.kind].owns) for (const made of known.values()) if (made.maker?.uid === job.ref.uid) tell(made);
  }
  const watches = Object.values(jobKinds).map((entry) =>
    follow<JobObject>(options, {
      what: entry.plural,
      path: watchPath(entry),
      onEvent({ type, object }) {
        const job = knownJob(entry, object, options.taint);
        const before = known.get(job.ref.uid);
        if (type === 'deleted') known.delete(job.ref.uid);
        else known.set(job.ref.uid, job);
        for (const step of foldJob(before, type === 'deleted' ? undefined : job)) take(step, job, options);
        if (type === 'deleted') options.onGone(job);
        else tell(job);
      },
    }),
  );
  const synced = Promise.all(watches.map((watch) => watch.synced));
  return { get: top, synced, settled: tellStrays(synced, known, options) };
}

function knownJob(entry: JobKindEntry, object: JobObject, taint: QuarantineTaint): KnownJob {
  const succeedsWith = entry.succeedsWith(object);
  const maker = makerOf(object.metadata);
  const wantsRecovery = object.metadata?.labels?.[labels.needRecovery] === 'true';
  return { ...entry.view(object, taint), wantsRecovery, ...(succeedsWith && { succeedsWith }), ...(maker && { maker }) };
}

function take(step: JobStep, job: KnownJob, options: JobsOptions): void {
  if (step.kind === 'ignore-wish') {
    options.metrics.wishesIgnored.inc();
    options.log.warn({ job: job.ref, because: step.because }, `${labels.needRecovery} on ${jobTitle(job.ref)} is ignored`);
    return;
  }
  options.log.info({ job: job.ref, step }, `${jobTitle(job.ref)}: ${step.kind}`);
  post(options, letterOf(step, job));
}

function letterOf(step: Exclude<JobStep, { kind: 'ignore-wish' }>, { ref }: KnownJob): Letter {
  if (step.kind === 'start') return startLetter(ref);
  if (step.kind === 'recover') return wishLetter(ref, { label: true, by: 'label', reason: `labelled ${labels.needRecovery}=true` });
  return step.observed.change === 'opted-in' ? optedInLetter(ref) : jobEndLetter(startLetter(ref).workflowId, step.observed);
}

/** What ended while nobody watched. The list comes before the comparison, so that a job started in between is not taken for a stray. */
async function tellStrays(synced: Promise<unknown>, known: ReadonlyMap<string, KnownJob>, options: JobsOptions): Promise<void> {
  const running = await persist('list the running job workflows', options, async () => {
    await synced;
    return options.workflows.runningJobs();
  });
  if (!running || options.signal.aborted) return;
  for (const { workflowId, observed } of findStrays(running, [...known.values()])) {
    options.log.info({ workflowId, observed }, 'a job ended while nobody watched');
    post(options, jobEndLetter(workflowId, observed));
  }
}
