import { nodesIn, requestIn } from '../maintenance/request.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';

export const nodeMaintain: CommandEntry = {
  summary: 'Plan the maintenance of nodes: their opted-in jobs move before it, and they return to service after it.',
  arguments: [{ name: '[nodes...]', describe: 'Names of nodes' }],
  options: [
    { flags: '--selector <labels>', describe: 'Nodes with these labels, such as topology.kubernetes.io/rack=r7' },
    {
      flags: '--from <time>',
      describe: 'When the work begins: 2026-12-01T06:00:00Z, or a duration from now such as 30m',
    },
    { flags: '--until <time>', describe: 'When the nodes return to service, in the same way' },
    { flags: '--reason <text>', describe: 'Why; recorded with what is done' },
    { flags: '--replace', describe: 'Give a maintenance that is planned or under way another time' },
    { flags: '--cancel', describe: 'End the maintenance now, and release what was quarantined for it' },
    { flags: '--dry-run', describe: 'Only print what would be done' },
    sharedOptions.kubeconfig,
    sharedOptions.taskQueue,
    sharedOptions.output,
  ],
  examples: [
    'kcover node maintain gpu-3 gpu-4 --from 2026-12-01T06:00:00Z --until 2026-12-01T10:00:00Z --reason "driver 580"',
    'kcover node maintain gpu-3 --cancel',
  ],
  exits: ['refused', 'notFound', 'unreachable'],
  async run(typed, { environment, session, now }) {
    const nodes = nodesIn(typed);
    const request = requestIn(typed, environment.user, now);
    const { maintain } = await import('../maintenance/maintain.ts');
    return maintain({
      session,
      request,
      nodes,
      taskQueue: typed.value('task-queue'),
      replace: typed.flag('replace'),
      dryRun: typed.flag('dry-run'),
    });
  },
};
