/** Watches the jobs of every kind: each that is opted in has a workflow, which is notified of the job's end. */

import { labels } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import { identityOf } from '../../kube/client/trim.ts';
import { type JobKindEntry, jobKinds, ownerJobOf, watchPath } from '../../kube/jobs/kinds/index.ts';
import type { QuarantineTaint } from '../../kube/nodes/nodes.ts';
import { findStrays, findUnsupervised, foldJob, type JobStep } from '../../policy/job/watch.ts';
import {
  jobEndMessage,
  type WorkflowMessage,
  optedInMessage,
  startMessage,
  recoverMessage,
} from '../outbox/messages.ts';
import type { Workflows } from '../temporal.ts';
import { follow, enqueue, type WatchContext } from './follow.ts';
import { openKnownJobs, type KnownJob, type KnownJobs } from './known-jobs.ts';
import { pause, retryWhileLeading } from './retry-while-leading.ts';

/** A job as it is kept: with its view instead of its specification, which a tenant may make as large as the API server allows. */
type JobObject = Parameters<JobKindEntry['view']>[0] & { readonly job?: KnownJob };

export interface JobsWatch {
  readonly get: KnownJobs['top'];
  /** Resolves when the jobs of every kind were listed. */
  readonly synced: Promise<unknown>;
  /** Resolves when the jobs of every kind were listed and the workflows of deleted jobs were notified. */
  readonly settled: Promise<void>;
}

export interface JobsOptions extends WatchContext {
  readonly taint: QuarantineTaint;
  readonly workflows: Workflows;
  /** How often it checks that every job has its workflow, ms. */
  readonly lookAgainMs: number;
  /** After every change of a job, also for its children. */
  readonly onJob: (job: KnownJob) => void;
  readonly onGone: (job: KnownJob) => void;
}

export function watchJobs(options: JobsOptions): JobsWatch {
  const known = openKnownJobs();
  const watches = Object.values(jobKinds).map((entry) =>
    follow<JobObject>(options, {
      what: entry.plural,
      path: watchPath(entry),
      trim: (object) => keptJob(entry, object, options.taint),
      onEvent({ type, object }) {
        const job = object.job ?? knownJob(entry, object, options.taint);
        const before = type === 'deleted' ? known.remove(job.ref) : known.put(job);
        for (const step of foldJob(before, type === 'deleted' ? undefined : job)) take(step, job, options);
        if (type === 'deleted') options.onGone(job);
        else for (const each of known.family(job.ref)) options.onJob(each);
      },
    }),
  );
  const synced = Promise.all(watches.map((watch) => watch.synced));
  const settled = notifyStrays(synced, known, options);
  settled
    .then(() => keepSupervised(known, options))
    .catch((error: unknown) => options.log.error({ err: error }, 'defect: jobs are no longer checked'));
  return { get: known.top, synced, settled };
}

/** What is kept of a job object. */
export const keptJob = (entry: JobKindEntry, object: JobObject, taint: QuarantineTaint): JobObject => ({
  metadata: identityOf(object),
  job: knownJob(entry, object, taint),
});

function knownJob(entry: JobKindEntry, object: JobObject, taint: QuarantineTaint): KnownJob {
  const ownerJob = ownerJobOf(entry.kind, object.metadata);
  const wantsRecovery = object.metadata?.labels?.[labels.needRecovery] === 'true';
  return { ...entry.view(object, taint), wantsRecovery, ...(ownerJob && { ownerJob }) };
}

function take(step: JobStep, job: KnownJob, options: JobsOptions): void {
  if (step.kind === 'ignore-label') {
    options.metrics.recoveryLabelsIgnored.inc();
    options.log.warn(
      { job: job.ref, because: step.because },
      `${labels.needRecovery} on ${jobTitle(job.ref)} is ignored`,
    );
    return;
  }
  options.log.info({ job: job.ref, step }, `${jobTitle(job.ref)}: ${step.kind}`);
  enqueue(options, messageOf(step, job));
}

function messageOf(step: Exclude<JobStep, { kind: 'ignore-label' }>, { ref }: KnownJob): WorkflowMessage {
  if (step.kind === 'start') return startMessage(ref);
  if (step.kind === 'recover')
    return recoverMessage(ref, { label: true, by: 'label', reason: `labelled ${labels.needRecovery}=true` });
  return step.observed.change === 'opted-in'
    ? optedInMessage(ref)
    : jobEndMessage(startMessage(ref).workflowId, step.observed);
}

/** Finds jobs that ended while no controller led. They are listed before the comparison, so that a job created in between is not taken for a deleted one. */
async function notifyStrays(synced: Promise<unknown>, known: KnownJobs, options: JobsOptions): Promise<void> {
  const running = await retryWhileLeading('list the running job workflows', options, async () => {
    await synced;
    return options.workflows.runningJobs();
  });
  if (!running || options.signal.aborted) return;
  for (const { workflowId, observed } of findStrays(running, known.all())) {
    options.log.info({ workflowId, observed }, 'a job ended while no controller led');
    enqueue(options, jobEndMessage(workflowId, observed));
  }
}

/**
 * A workflow that was terminated or cancelled is started again; it resumes a job that its recovery left suspended. A running one gets no
 * signal: one list shows all of them, and a signal to each would grow its history.
 */
async function keepSupervised(known: KnownJobs, options: JobsOptions): Promise<void> {
  for (;;) {
    await pause(options.lookAgainMs, options.signal);
    const running = await retryWhileLeading('list the running job workflows', options, () =>
      options.workflows.runningJobs(),
    );
    if (!running || options.signal.aborted) return;
    for (const job of findUnsupervised(running, known.all())) {
      options.log.warn({ job }, `no workflow looks after ${jobTitle(job)}: it is started`);
      enqueue(options, startMessage(job));
    }
  }
}
