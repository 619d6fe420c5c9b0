import { KcoverError } from '../../contract/errors.ts';
import { type CommandEntry, sharedOptions, type Typed } from '../program/command.ts';
import { readSettings } from '../settings/file.ts';

export const nodeRelease: CommandEntry = {
  summary: 'Release quarantined nodes: removes what kcover put on them, and nothing else.',
  arguments: [{ name: '[node]', describe: 'Name of the node' }],
  options: [
    { flags: '--all', describe: 'Every node that kcover keeps out of service' },
    {
      flags: '--owner-only',
      describe:
        'With --all, clear every node that has an annotation of kcover, without Temporal and workers: for an uninstall',
    },
    { flags: '--dry-run', describe: 'With --all, only print what would be done' },
    sharedOptions.reason,
    sharedOptions.workerConfig,
    sharedOptions.kubeconfig,
    sharedOptions.taskQueue,
    sharedOptions.output,
  ],
  examples: [
    'kcover node release gpu-3 --reason "GPU replaced"',
    'kcover node release --all --owner-only --reason "kcover is uninstalled" --dry-run',
  ],
  exits: ['refused', 'notFound', 'unreachable'],
  async run(typed, { environment, session }) {
    const node = typed.argument('node');
    requireOneMeaning(typed, node);
    const request = { by: environment.user, reason: typed.value('reason') };
    const taskQueue = typed.value('task-queue');
    if (typed.flag('all')) {
      const { quarantine } = (await readSettings('worker', typed.option('config'))).settings;
      const { releaseAll } = await import('../node-release/all.ts');
      return releaseAll({
        session,
        request,
        taskQueue,
        quarantine,
        ownerOnly: typed.flag('owner-only'),
        dryRun: typed.flag('dry-run'),
      });
    }
    const { releaseByWorkflow } = await import('../node-release/by-workflow.ts');
    const released = await releaseByWorkflow(session, node, request, taskQueue);
    const { incident, outcome, because } = released;
    return {
      data: released,
      text:
        outcome === 'releasing'
          ? `node ${node}: being released\n  incident ${incident}\n  follow   kcover node list`
          : `node ${node}: ${outcome}\n  because  ${because}\n  incident ${incident}`,
    };
  },
};

function requireOneMeaning(typed: Typed, node: string): void {
  const attempt = 'kcover node release gpu-3 --reason "...", or kcover node release --all --reason "..."';
  if (typed.flag('all') === (node !== ''))
    throw new KcoverError('usage', 'it takes the name of one node, or --all', { remedy: attempt });
  if (!typed.flag('all') && (typed.flag('owner-only') || typed.flag('dry-run')))
    throw new KcoverError('usage', '--owner-only and --dry-run go with --all', { remedy: attempt });
}
