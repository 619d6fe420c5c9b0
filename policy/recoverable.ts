import type { JobView } from '../contract/jobs.ts';
import type { OptInDecision } from '../contract/recovery.ts';
import type { Undated } from './decision.ts';

/** Why a job could not be recovered whatever happens, and what to change; undefined when it could. */
export function whyNotRecoverable(job: JobView): { readonly because: string; readonly try: string } | undefined {
  if (job.toleratesQuarantine) {
    return {
      because: 'its pods tolerate the quarantine taint, so a restart could land on the bad node again',
      try: 'remove the toleration, or name the taints it tolerates by key',
    };
  }
  if (job.canStopBy.length > 0) return undefined;
  const fails = job.failsWhenDeleted ?? {
    because: `with restart policy ${job.restartPolicy} its controller fails the job when pods are deleted`,
    try: 'use restart policy OnFailure',
  };
  return job.queue === undefined ? fails : { ...fails, because: `queue ${job.queue} owns its suspend field, and ${fails.because}` };
}

/** Told once when a job opts in, so that nobody learns it from a broken node. */
export function decideOptIn(job: JobView): Undated<OptInDecision> {
  const why = whyNotRecoverable(job);
  return why ? { kind: 'warn', ...why } : { kind: 'watch', because: `opted in since ${job.optedInAt}` };
}
