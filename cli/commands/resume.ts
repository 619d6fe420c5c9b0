import type { Client } from '@temporalio/client';
import { clusterWorkflowId, jobWorkflowId } from '../../contract/ids.ts';
import { type JobRef, jobTitle } from '../../contract/jobs.ts';
import { type OperatorWish, updates } from '../../contract/messages.ts';
import { type Answer, type CommandEntry, sharedOptions } from '../command.ts';
import { wishOfJob } from '../job-wish.ts';
import type { Session } from '../session.ts';

export const resume: CommandEntry = {
  summary: 'End a pause of the whole cluster or of one job; what waited is judged anew.',
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
  async run(typed, surroundings) {
    const { environment, session } = surroundings;
    const said = { by: environment.user, reason: typed.value('reason') };
    if (typed.argument('job') === '') return resumeAll(session, typed.value('task-queue'), said);
    const { jobTyped } = await import('../jobs.ts');
    const { ref } = await jobTyped(typed, surroundings);
    return resumeJob(await session.temporal(), ref, said);
  },
};

interface Resumed {
  readonly wasPaused: boolean;
}

const inWords = ({ wasPaused }: Resumed): string => (wasPaused ? 'resumed; what waited is judged anew' : 'it was not paused');

async function resumeAll(session: Session, taskQueue: string, said: OperatorWish): Promise<Answer> {
  const { wishOfCluster } = await import('../cluster-wish.ts');
  const answer = await wishOfCluster<Resumed>(session, taskQueue, updates.resume, said);
  return { data: { workflow: clusterWorkflowId, wasPaused: answer.wasPaused }, text: inWords(answer) };
}

async function resumeJob(client: Client, job: JobRef, said: OperatorWish): Promise<Answer> {
  const answer = await wishOfJob<Resumed>(client, job, updates.resume, said, 'resumed');
  return {
    data: { job, workflow: jobWorkflowId(job), wasPaused: answer.wasPaused },
    text: `${jobTitle(job)} in ${job.namespace}: ${inWords(answer)}`,
  };
}
