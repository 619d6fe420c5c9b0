import type { Client } from '@temporalio/client';
import type { Paused } from '../../contract/cluster.ts';
import { clusterWorkflowId, jobWorkflowId } from '../../contract/ids.ts';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import { type OperatorRequest, updates } from '../../contract/wire/messages.ts';
import { type CommandOutput, type CommandEntry, sharedOptions } from '../program/command.ts';
import { commandFor, sendJobUpdate } from '../clients/job-update.ts';
import type { Session } from '../clients/session.ts';

export const pause: CommandEntry = {
  summary: 'Let kcover start nothing disruptive, in the whole cluster or for one job, until it is resumed.',
  arguments: [{ name: '[job]', describe: 'kind/name, such as pytorchjob/llm; the whole cluster without one' }],
  options: [
    sharedOptions.reason,
    sharedOptions.namespace,
    sharedOptions.kubeconfig,
    sharedOptions.taskQueue,
    sharedOptions.output,
  ],
  examples: [
    'kcover pause --reason "switch maintenance until noon"',
    'kcover pause pytorchjob/llm -n train --reason "debugging a hang by hand"',
  ],
  exits: ['refused', 'notFound', 'unreachable'],
  async run(typed, context) {
    const { environment, session } = context;
    const request = { by: environment.user, reason: typed.value('reason') };
    if (typed.argument('job') === '') return pauseAll(session, typed.value('task-queue'), request);
    const { jobTyped } = await import('../job/jobs.ts');
    const { ref } = await jobTyped(typed, context);
    return pauseJob(await session.temporal(), ref, request);
  },
};

async function pauseAll(session: Session, taskQueue: string, request: OperatorRequest): Promise<CommandOutput> {
  const { whyUnstored, sendClusterUpdate } = await import('../clients/cluster-update.ts');
  const { by, reason, since } = await sendClusterUpdate<Paused>(session, taskQueue, updates.pause, request);
  const unstored = await whyUnstored(session);
  const warning =
    unstored === undefined
      ? ''
      : `\n  not yet stored outside of Temporal, where it would outlive the workflow ${clusterWorkflowId}: ${unstored}`;
  return {
    data: {
      workflow: clusterWorkflowId,
      paused: { by, reason, since: new Date(since).toISOString() },
      unstored: unstored ?? null,
    },
    text: `paused by ${by}: ${reason}\n  no quarantine and no stop begins until: kcover resume${warning}`,
  };
}

async function pauseJob(client: Client, job: JobRef, request: OperatorRequest): Promise<CommandOutput> {
  const { by, reason } = await sendJobUpdate<OperatorRequest>(client, job, updates.pause, request, 'paused');
  return {
    data: { job, workflow: jobWorkflowId(job), paused: { by, reason } },
    text: `${jobTitle(job)} in ${job.namespace}: paused by ${by}: ${reason}\n  no stop of it begins until: ${commandFor('resume', job)}`,
  };
}
