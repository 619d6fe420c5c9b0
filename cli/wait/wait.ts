/** Waits until a job meets a condition: Temporal holds one request while an incident is open, and otherwise the job is looked at every 2 s. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { jobWorkflowId } from '../../contract/ids.ts';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import { formatDuration } from '../../contract/settings/duration.ts';
import { commandFor, notWatched } from '../clients/job-update.ts';
import { askTemporal } from '../clients/temporal.ts';
import { statusOf } from '../clients/workflows.ts';
import { pauseMs } from '../program/watch.ts';
import { type Condition, type JobLook, judge, type Verdict } from './verdict.ts';

export interface Wait {
  readonly job: JobRef;
  readonly condition: Condition;
  readonly timeoutMs: number;
  /** An incident that ended since then counts too, ms; otherwise only one that ends while it is waited for. */
  readonly since: number | undefined;
}

/** Longest time of one look, or for which one request is held, ms: after it the job itself is looked at again. */
const heldMs = 60_000;

/** Resolves when the condition holds; throws `wait.timeout` or `wait.otherwise`. */
export async function waitFor(client: Client, { job, condition, timeoutMs, since }: Wait): Promise<Verdict> {
  const deadline = Date.now() + timeoutMs;
  const left = (most: number): number => Math.max(0, Math.min(most, deadline - Date.now()));
  let because = 'Temporal has not answered yet';
  let ignored: { readonly incident: string | undefined } | undefined;
  for (; left(1) > 0; await sleep(left(pauseMs))) {
    const look = await client.withAbortSignal(AbortSignal.timeout(left(heldMs)), () => tryToLook(client, job));
    if (look === 'no workflow' && condition !== 'protected') throw notWatched(new KcoverError('not-found', look), job);
    if (typeof look === 'string') {
      if (left(1) > 0) because = look;
      continue;
    }
    ignored ??= endedBefore(look, since);
    const verdict = judge(condition, look, ignored.incident);
    if (verdict.kind === 'holds') return verdict;
    if (verdict.kind === 'otherwise') throw otherwise(job, condition, verdict);
    because = verdict.because;
    await recoveryEnd(client, look.status.incident, left(heldMs));
  }
  throw new KcoverError('wait.timeout', because, {
    what: `${titleOf(job)} is not ${condition} after ${formatDuration(timeoutMs)}`,
    remedy: commandFor('status', job),
  });
}

const titleOf = (job: JobRef): string => `${jobTitle(job)} in ${job.namespace}`;

const endedBefore = (
  { status: { last } }: JobLook,
  since: Wait['since'],
): { readonly incident: string | undefined } => ({
  incident: last && (since === undefined || Date.parse(last.at) < since) ? last.incident : undefined,
});

const otherwise = (job: JobRef, condition: Condition, { because, incident }: Verdict): KcoverError =>
  new KcoverError('wait.otherwise', because, {
    what: `${titleOf(job)} is not ${condition}`,
    remedy: incident === undefined ? commandFor('status', job) : `kcover report ${incident}`,
  });

/** Why it cannot be seen, where another try may help. */
async function tryToLook(client: Client, job: JobRef): Promise<JobLook | string> {
  const id = jobWorkflowId(job);
  try {
    const { status } = await askTemporal(client, `look for ${id}`, () => client.workflow.getHandle(id).describe());
    return { isRunning: status.name === 'RUNNING', status: await statusOf(client, 'trainingJob', id) };
  } catch (error) {
    if (!(error instanceof KcoverError)) throw error;
    if (error.code === 'not-found') return 'no workflow';
    if (error.transient) return `${error.message}: ${error.because}`;
    throw error;
  }
}

/** Resolves when the recovery has closed, or when the time has passed; at once without a recovery. */
async function recoveryEnd(client: Client, incident: string | undefined, ms: number): Promise<void> {
  if (incident === undefined) return;
  // However it ends, or fails to answer, the status of its job decides.
  await client.withDeadline(Date.now() + ms, () => client.workflow.getHandle(incident).result()).catch(() => undefined);
}
