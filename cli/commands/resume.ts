import { clusterWorkflowId } from '../../contract/ids.ts';
import { updates } from '../../contract/messages.ts';
import { type CommandEntry, sharedOptions } from '../command.ts';

export const resume: CommandEntry = {
  summary: 'End a pause; what waited is judged anew.',
  arguments: [],
  options: [{ flags: '--reason <text>', describe: 'Why; recorded with what is done', byDefault: 'the pause is over' }, sharedOptions.output],
  examples: ['kcover resume', 'kcover resume --reason "the new switch is in"'],
  exits: ['refused', 'notFound', 'unreachable'],
  async run(typed, { environment, session }) {
    const { wishOfCluster } = await import('../cluster-wish.ts');
    const { wasPaused } = await wishOfCluster<{ wasPaused: boolean }>(await session.temporal(), updates.resume, {
      by: environment.user,
      reason: typed.value('reason'),
    });
    return { data: { workflow: clusterWorkflowId, wasPaused }, text: wasPaused ? 'resumed; what waited is judged anew' : 'it was not paused' };
  },
};
