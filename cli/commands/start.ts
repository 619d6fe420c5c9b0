import { labels } from '../../contract/ids.ts';
import { jobTitle, type JobView } from '../../contract/job/jobs.ts';
import { jobStart } from '../../contract/wire/starts.ts';
import { whyNeverRecoverable } from '../../policy/recovery/recoverable.ts';
import { type CommandOutput, type CommandEntry, sharedOptions } from '../program/command.ts';

export const start: CommandEntry = {
  summary: 'Watch a job: sets its opt-in label and starts its workflow.',
  arguments: [{ name: '<job>', describe: 'kind/name, such as pytorchjob/llm' }],
  options: [sharedOptions.namespace, sharedOptions.kubeconfig, sharedOptions.taskQueue, sharedOptions.output],
  examples: ['kcover start pytorchjob/llm', 'kcover start job/preprocess -n data'],
  exits: ['notFound', 'unreachable'],
  async run(typed, context) {
    const { jobTyped } = await import('../job/jobs.ts');
    const { clusterUid } = await import('../../kube/client/connection.ts');
    const { requireSameCluster } = await import('../clients/cluster-identity.ts');
    const { labelJob } = await import('../job/label.ts');
    const { startWorkflow } = await import('../clients/start-workflow.ts');

    const job = await jobTyped(typed, context);
    const [kube, client] = await Promise.all([context.session.kube(), context.session.temporal()]);
    await requireSameCluster(client, await clusterUid(kube));
    await labelJob(kube, job.ref, 'true');
    const workflowId = await startWorkflow(client, jobStart(job.ref, typed.value('task-queue')));
    const { jobKinds } = await import('../../kube/jobs/kinds/index.ts');
    return started(job, workflowId, jobKinds[job.ref.kind].protection);
  },
};

function started(job: JobView, workflow: string, protection: string): CommandOutput {
  const never = whyNeverRecoverable(job);
  // The worker's settings decide about an unsafe suspend, and they are not known here.
  const why = never ?? job.unsafeSuspend;
  const unless = never ? '' : ` unless recovery.unsafeSuspend.${job.ref.kind} of the worker is stop`;
  const title = `${jobTitle(job.ref)} in ${job.ref.namespace}`;
  return {
    data: {
      job: job.ref,
      workflow,
      label: `${labels.cascadingRecovery}=true`,
      recoverable: why === undefined,
      protection,
      ...why,
    },
    text: why
      ? `${title}: watched, but it cannot be recovered${unless}\n  because: ${why.because}\n  try:     ${why.remedy}`
      : `${title}: watched\n  workflow ${workflow}\n  ${protection}`,
  };
}
