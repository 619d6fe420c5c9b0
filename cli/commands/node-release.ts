import { KcoverError } from '../../contract/errors.ts';
import type { Selection } from '../node-release/selection.ts';
import { type CommandEntry, sharedOptions, type Typed } from '../program/command.ts';
import { readSettings } from '../settings/file.ts';

export const nodeRelease: CommandEntry = {
  summary: 'Release quarantined nodes: removes what kcover put on them, and nothing else.',
  arguments: [{ name: '[nodes...]', describe: 'Names of nodes' }],
  options: [
    { flags: '--incident <id>', describe: 'The node that is quarantined for this incident' },
    { flags: '--selector <labels>', describe: 'Nodes with these labels, such as topology.kubernetes.io/rack=r7' },
    {
      flags: '--cause <code>',
      describe: 'Nodes that are quarantined for this code and no other, such as xid/79 or preflight/*',
    },
    { flags: '--all', describe: 'Every node that kcover keeps out of service' },
    {
      flags: '--owner-only',
      describe:
        'With --all, clear every node that has an annotation of kcover, without Temporal and workers: for an uninstall',
    },
    { flags: '--dry-run', describe: 'Only print what would be done' },
    sharedOptions.reason,
    sharedOptions.workerConfig,
    sharedOptions.kubeconfig,
    sharedOptions.taskQueue,
    sharedOptions.output,
  ],
  examples: [
    'kcover node release gpu-3 --reason "GPU replaced"',
    'kcover node release --cause xid/31 --reason "false alarm of the new driver" --dry-run',
  ],
  exits: ['refused', 'notFound', 'unreachable'],
  async run(typed, { environment, session }) {
    const request = { by: environment.user, reason: typed.value('reason') };
    const taskQueue = typed.value('task-queue');
    const dryRun = typed.flag('dry-run');
    const selection = selectionIn(typed);
    if (typed.flag('owner-only')) {
      if (selection.by !== 'all') throw misused('--owner-only goes with --all');
      const { quarantine } = (await readSettings('worker', typed.option('config'))).settings;
      const { clearAll } = await import('../node-release/clear.ts');
      return clearAll({ session, request, quarantine, dryRun });
    }
    const [node, ...others] = selection.by === 'names' ? selection.names : [];
    if (node === undefined || others.length > 0 || dryRun) {
      const { releaseMany } = await import('../node-release/many.ts');
      return releaseMany({ session, request, taskQueue, selection, selector: typed.option('selector'), dryRun });
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

/** Exactly one way of choosing: two of them could be meant as "and" or as "or". */
function selectionIn(typed: Typed): Selection {
  const names = [...new Set(typed.arguments('nodes'))];
  const incident = typed.option('incident');
  const cause = typed.option('cause');
  const ways: readonly (Selection | false)[] = [
    names.length > 0 && { by: 'names', names },
    incident !== undefined && { by: 'incident', incident },
    typed.option('selector') !== undefined && { by: 'selector' },
    cause !== undefined && { by: 'cause', cause },
    typed.flag('all') && { by: 'all' },
  ];
  const [way, second] = ways.filter((each) => each !== false);
  if (way === undefined || second !== undefined)
    throw misused('it takes names of nodes, or one of --incident, --selector, --cause and --all');
  return way;
}

const misused = (because: string): KcoverError =>
  new KcoverError('usage', because, {
    remedy: 'kcover node release gpu-3 --reason "...", or kcover node release --all --reason "..."',
  });
