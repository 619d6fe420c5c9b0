import type { Client } from '@temporalio/client';
import { clusterWorkflowId, jobWorkflowId } from '../../contract/ids.ts';
import { type JobRef, jobTitle } from '../../contract/job/jobs.ts';
import { type OperatorRequest, updates } from '../../contract/wire/messages.ts';
import { type CommandOutput, type CommandEntry, sharedOptions } from '../program/command.ts';
import { sendJobUpdate } from '../clients/job-update.ts';
import type { Session } from '../clients/session.ts';

export const resume: CommandEntry = {
  summary: 'End a pause of the whole cluster or of one job; waiting faults are judged again.',
  arguments: [{ name: '[job]', describe: 'kind/name, such as pytorchjob/llm; the whole cluster without one' }],
  options: [
    { flags: '--reason <text>', describe: 'Why; recorded with what is done', byDefault: 'the pause is over' },
    sharedOptions.namespace,
    sharedOptions.kubeconfig,
    sharedOptions.taskQueue,
    sharedOptions.output,
  ],
  examples: ['kcover resume', 'kcover resume pytorchjob/llm -n train --reason "the hang is understood"'],
  exits: ['refused', 'notFound', 'unreachable'],
  async run(typed, context) {
    const { environment, session } = context;
    const request = { by: environment.user, reason: typed.value('reason') };
    if (typed.argument('job') === '') return resumeAll(session, typed.value('task-queue'), request);
    const { jobTyped } = await import('../job/jobs.ts');
    const { ref } = await jobTyped(typed, context);
    return resumeJob(await session.temporal(), ref, request);
  },
};

interface Resumed {
  readonly wasPaused: boolean;
}

const inWords = ({ wasPaused }: Resumed): string =>
  wasPaused ? 'resumed; waiting faults are judged again' : 'it was not paused';

async function resumeAll(session: Session, taskQueue: string, request: OperatorRequest): Promise<CommandOutput> {
  const { sendClusterUpdate } = await import('../clients/cluster-update.ts');
  const answer = await sendClusterUpdate<Resumed>(session, taskQueue, updates.resume, request);
  return { data: { workflow: clusterWorkflowId, wasPaused: answer.wasPaused }, text: inWords(answer) };
}

async function resumeJob(client: Client, job: JobRef, request: OperatorRequest): Promise<CommandOutput> {
  const answer = await sendJobUpdate<Resumed>(client, job, updates.resume, request, 'resumed');
  return {
    data: { job, workflow: jobWorkflowId(job), wasPaused: answer.wasPaused },
    text: `${jobTitle(job)} in ${job.namespace}: ${inWords(answer)}`,
  };
}
