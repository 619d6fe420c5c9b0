import { nodeWorkflowId } from '../../contract/ids.ts';
import { isQuarantined } from '../../contract/node/nodes.ts';
import { signals } from '../../contract/wire/messages.ts';
import { nodeStart } from '../../contract/wire/starts.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';

export const nodeQuarantine: CommandEntry = {
  summary: 'Keep new pods off a node, regardless of mode, limit and pause.',
  arguments: [{ name: '<node>', describe: 'Name of the node' }],
  options: [sharedOptions.reason, sharedOptions.kubeconfig, sharedOptions.taskQueue, sharedOptions.output],
  examples: [
    'kcover node quarantine gpu-3 --reason "fan is loud"',
    'kcover node quarantine gpu-3 --reason "to be replaced" --output json',
  ],
  exits: ['notFound', 'unreachable'],
  async run(typed, { environment, session }) {
    const node = typed.argument('node');
    const { awaitNode, clientForNode } = await import('../clients/node-workflow.ts');
    const { signalWithStart } = await import('../clients/start-workflow.ts');
    const client = await clientForNode(session, node);
    await signalWithStart(client, nodeStart(node, typed.value('task-queue')), signals.quarantine, {
      by: environment.user,
      reason: typed.value('reason'),
    });
    const seen = await awaitNode(client, node, isQuarantined);
    return {
      data: { node, workflow: nodeWorkflowId(node), phase: seen?.phase ?? 'unknown', incident: seen?.incident ?? null },
      text:
        seen && isQuarantined(seen)
          ? `node ${node}: quarantined\n  because  ${seen.because}\n  incident ${seen.incident ?? '-'}\n  undo     kcover node release ${node} --reason TEXT`
          : `node ${node}: requested, but not quarantined yet${seen ? ` (${seen.phase}: ${seen.because})` : ''}\n  follow   kcover node list`,
    };
  },
};
