/** Sends an operator's request to the workflow of one job, and names the job and the next command in errors. */

import type { Client } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { jobWorkflowId } from '../../contract/ids.ts';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';

/** A complete command line: `kcover start pytorchjob/llm -n train`. */
export const commandFor = (command: string, job: JobRef): string =>
  `kcover ${command} ${jobTitle(job)} -n ${job.namespace}`;

/** Converts `not-found` of the workflow to an error about the job; returns any other error unchanged. */
export function notWatched(error: unknown, job: JobRef): unknown {
  if (!(error instanceof KcoverError) || error.code !== 'not-found') return error;
  return new KcoverError('not-found', `${jobTitle(job)} in ${job.namespace} has no running workflow`, {
    what: 'kcover does not watch this job',
    remedy: commandFor('start', job),
  });
}

/** Sends an update to the job's workflow. `refused` completes the error message "JOB is not ...". */
export async function sendJobUpdate<Result>(
  client: Client,
  job: JobRef,
  update: string,
  request: OperatorRequest,
  refused: string,
): Promise<Result> {
  const { sendUpdate } = await import('./workflows.ts');
  try {
    return await sendUpdate<Result>(client, jobWorkflowId(job), update, request);
  } catch (error) {
    if (error instanceof KcoverError && error.code === 'refused')
      throw new KcoverError('refused', error.because, {
        what: `${jobTitle(job)} is not ${refused}`,
        remedy: commandFor('status', job),
      });
    throw notWatched(error, job);
  }
}
