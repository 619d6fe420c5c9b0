import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { signals } from '../../contract/wire/messages.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import { nodeStart } from '../../contract/wire/starts.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';

/** How long the command waits for the taint, ms. The request stays in force after that. */
const timeoutMs = 10_000;

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
    const { clusterUid } = await import('../../kube/client/connection.ts');
    const { readNode } = await import('../../kube/nodes/nodes.ts');
    const { requireSameCluster } = await import('../clients/cluster-identity.ts');
    const { signalWithStart } = await import('../clients/start-workflow.ts');

    const [kube, client] = await Promise.all([session.kube(), session.temporal()]);
    if ((await readNode(kube, node)) === undefined)
      throw new KcoverError('not-found', `there is no node ${node}`, {
        what: 'there is no such node',
        remedy: 'kubectl get nodes',
      });
    await requireSameCluster(client, await clusterUid(kube));
    await signalWithStart(client, nodeStart(node, typed.value('task-queue')), signals.quarantine, {
      by: environment.user,
      reason: typed.value('reason'),
    });
    const seen = await awaitQuarantine(client, node);
    return {
      data: { node, workflow: nodeWorkflowId(node), phase: seen?.phase ?? 'unknown', incident: seen?.incident ?? null },
      text:
        seen?.phase === 'quarantined'
          ? `node ${node}: quarantined\n  because  ${seen.because}\n  incident ${seen.incident ?? '-'}\n  undo     kcover node release ${node} --reason TEXT`
          : `node ${node}: requested, but not quarantined yet${seen ? ` (${seen.phase}: ${seen.because})` : ''}\n  follow   kcover node list`,
    };
  },
};

/** Status of the node once it is quarantined, or at the timeout. */
async function awaitQuarantine(client: Client, node: string): Promise<NodeStatus | undefined> {
  const { statusOf } = await import('../clients/workflows.ts');
  const until = Date.now() + timeoutMs;
  for (;;) {
    const seen = await statusOf(client, 'nodeQuarantine', nodeWorkflowId(node)).catch(() => undefined);
    if (seen?.phase === 'quarantined' || Date.now() > until) return seen;
    await sleep(100);
  }
}
