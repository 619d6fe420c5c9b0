import { jobTitle } from '../../contract/job/jobs.ts';
import { updates } from '../../contract/wire/messages.ts';
import type { RecoverAnswer } from '../../contract/job/training-job.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { commandFor, sendJobUpdate } from '../clients/job-update.ts';

export const recover: CommandEntry = {
  summary: 'Restart all pods of a job now, regardless of mode and budget.',
  arguments: [{ name: '<job>', describe: 'kind/name, such as pytorchjob/llm' }],
  options: [sharedOptions.reason, sharedOptions.namespace, sharedOptions.kubeconfig, sharedOptions.output],
  examples: [
    'kcover recover pytorchjob/llm --reason "NCCL hangs since the switch was changed"',
    'kcover recover job/preprocess -n data --reason "stuck on gpu-3"',
  ],
  exits: ['refused', 'notFound', 'unreachable'],
  async run(typed, context) {
    const { jobTyped } = await import('../job/jobs.ts');
    const { ref } = await jobTyped(typed, context);
    const client = await context.session.temporal();
    const request = { by: context.environment.user, reason: typed.value('reason') };
    const { incident } = await sendJobUpdate<RecoverAnswer>(client, ref, updates.recoverNow, request, 'recovered');
    return {
      data: { job: ref, incident },
      text: `${jobTitle(ref)} in ${ref.namespace}: recovery begun\n  incident ${incident}\n  follow   ${commandFor('status', ref)}`,
    };
  },
};
