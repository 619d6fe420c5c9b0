/** An operator's request to the workflow of one job, and what a person is told about that job. */

import type { Client } from '@temporalio/client';
import { KcoverError } from '../contract/errors.ts';
import { jobWorkflowId } from '../contract/ids.ts';
import { type JobRef, jobTitle } from '../contract/jobs.ts';
import type { OperatorRequest } from '../contract/messages.ts';

/** `kcover start pytorchjob/llm -n train`, to be typed as it stands. */
export const commandFor = (command: string, job: JobRef): string => `kcover ${command} ${jobTitle(job)} -n ${job.namespace}`;

/** A job without a running workflow of its own, said in the words of who asked; any other error as it is. */
export function notWatched(error: unknown, job: JobRef): unknown {
  if (!(error instanceof KcoverError) || error.code !== 'not-found') return error;
  return new KcoverError('not-found', `${jobTitle(job)} in ${job.namespace} has no running workflow`, {
    what: 'kcover does not watch this job',
    remedy: commandFor('start', job),
  });
}

/** An update of the job's workflow. `refused` completes "JOB is not ...". */
export async function sendJobUpdate<Result>(client: Client, job: JobRef, update: string, request: OperatorRequest, refused: string): Promise<Result> {
  const { sendUpdate } = await import('./workflows.ts');
  try {
    return await sendUpdate<Result>(client, jobWorkflowId(job), update, request);
  } catch (error) {
    if (error instanceof KcoverError && error.code === 'refused')
      throw new KcoverError('refused', error.because, { what: `${jobTitle(job)} is not ${refused}`, remedy: commandFor('status', job) });
    throw notWatched(error, job);
  }
}
