/** Commands that signal the workflow of a node. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { nodeWorkflowId } from '../../contract/ids.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import { clusterUid } from '../../kube/client/connection.ts';
import { readNode } from '../../kube/nodes/nodes.ts';
import { requireSameCluster } from './cluster-identity.ts';
import type { Session } from './session.ts';
import { statusOf } from './workflows.ts';

/** How long a command waits for what its signal leads to, ms. What it sent stays in force after that. */
const timeoutMs = 10_000;

/** A client of Temporal, once it is known that the node exists and that Temporal serves its cluster. */
export async function clientForNode(session: Session, node: string): Promise<Client> {
  const [kube, client] = await Promise.all([session.kube(), session.temporal()]);
  if ((await readNode(kube, node)) === undefined)
    throw new KcoverError('not-found', `there is no node ${node}`, {
      what: 'there is no such node',
      remedy: 'kubectl get nodes',
    });
  await requireSameCluster(client, await clusterUid(kube));
  return client;
}

/** Status of the node once it is as wanted, or at the timeout. */
export async function awaitNode(
  client: Client,
  node: string,
  isWanted: (status: NodeStatus) => boolean,
): Promise<NodeStatus | undefined> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const seen = await statusOf(client, 'nodeQuarantine', nodeWorkflowId(node)).catch(() => undefined);
    if ((seen && isWanted(seen)) || Date.now() > until) return seen;
    await sleep(100);
  }
}
