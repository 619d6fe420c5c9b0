import type { JobKind, JobView, Reason } from '../../contract/job/jobs.ts';
import type { OptInDecision } from '../../contract/recovery/recovery.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';
import type { Undated } from '../decision.ts';

type Settings = Pick<WorkerSettings, 'recovery'>;

/** Why a job can never be recovered, and what to change; undefined when it can. */
export const whyNotRecoverable = (job: JobView, settings: Settings): Reason | undefined =>
  whyNeverRecoverable(job) ?? (refusesUnsafe(job, settings) ? job.unsafeSuspend : undefined);

/** The same, independent of settings. */
export function whyNeverRecoverable(job: JobView): Reason | undefined {
  if (job.toleratesQuarantine) {
    return {
      because: 'its pods tolerate the quarantine taint, so a restart could land on the bad node again',
      remedy: 'remove the toleration, or name the taints it tolerates by key',
    };
  }
  return job.incomplete ?? whyNotStoppable(job);
}

function whyNotStoppable(job: JobView): Reason | undefined {
  if (job.canStopBy.length > 0) return undefined;
  const fails = job.failsWhenDeleted ?? {
    because: `with restart policy ${job.restartPolicy} its controller fails the job when pods are deleted`,
    remedy: 'use restart policy OnFailure',
  };
  return job.queue === undefined
    ? fails
    : { ...fails, because: `queue ${job.queue} owns its suspend field, and ${fails.because}` };
}

function refusesUnsafe({ ref: { kind } }: JobView, { recovery: { unsafeSuspend } }: Settings): boolean {
  const rules: Partial<Record<JobKind, 'refuse' | 'stop'>> = unsafeSuspend;
  return rules[kind] === 'refuse';
}

/** Reported once when a job opts in, before a node breaks. */
export function decideOptIn(job: JobView, settings: Settings): Undated<OptInDecision> {
  const why = whyNotRecoverable(job, settings);
  if (why) return { kind: 'warn', ...why, because: `kcover cannot recover this job: ${why.because}` };
  const { unsafeSuspend } = job;
  if (unsafeSuspend)
    return { kind: 'warn', ...unsafeSuspend, because: `a recovery may fail this job: ${unsafeSuspend.because}` };
  return { kind: 'watch', because: `opted in since ${job.optedInAt}` };
}
