import { labels } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';

export const stop: CommandEntry = {
  summary: 'Stop watching a job: writes false into its opt-in label; the job itself goes on.',
  arguments: [{ name: '<job>', describe: 'kind/name, such as pytorchjob/llm' }],
  options: [sharedOptions.namespace, sharedOptions.kubeconfig, sharedOptions.output],
  examples: ['kcover stop pytorchjob/llm', 'kcover stop job/preprocess -n data'],
  exits: ['notFound', 'unreachable'],
  async run(typed, context) {
    const { jobTyped } = await import('../job/jobs.ts');
    const { labelJob } = await import('../job/label.ts');
    const { ref } = await jobTyped(typed, context);
    await labelJob(await context.session.kube(), ref, 'false');
    return {
      data: { job: ref, label: `${labels.cascadingRecovery}=false` },
      text: `${jobTitle(ref)} in ${ref.namespace}: no longer watched; a recovery under way ends at its next step`,
    };
  },
};
