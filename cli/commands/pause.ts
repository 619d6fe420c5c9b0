import type { Paused } from '../../contract/cluster.ts';
import { clusterWorkflowId } from '../../contract/ids.ts';
import { updates } from '../../contract/messages.ts';
import { type CommandEntry, sharedOptions } from '../command.ts';

export const pause: CommandEntry = {
  summary: 'Let kcover begin nothing disruptive in the whole cluster until it is resumed.',
  arguments: [],
  options: [sharedOptions.reason, sharedOptions.output],
  examples: ['kcover pause --reason "switch maintenance until noon"', 'kcover pause --reason "looking into false alarms" --output json'],
  exits: ['refused', 'notFound', 'unreachable'],
  async run(typed, { environment, session }) {
    const { wishOfCluster } = await import('../cluster-wish.ts');
    const { by, reason, since } = await wishOfCluster<Paused>(await session.temporal(), updates.pause, { by: environment.user, reason: typed.value('reason') });
    return {
      data: { workflow: clusterWorkflowId, paused: { by, reason, since: new Date(since).toISOString() } },
      text: `paused by ${by}: ${reason}\n  no quarantine and no stop begins until: kcover resume`,
    };
  },
};
