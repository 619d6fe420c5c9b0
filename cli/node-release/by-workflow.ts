/** Releases a node through its workflow, which records the release and writes Events. */

import type { Client } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { annotations, nodeWorkflowId } from '../../contract/ids.ts';
import { type OperatorRequest, updates } from '../../contract/wire/messages.ts';
import type { NodeOutcome } from '../../contract/node/nodes.ts';
import { nodeStart } from '../../contract/wire/starts.ts';
import type { Kube } from '../../kube/client/connection.ts';
import type { Session } from '../clients/session.ts';

const timeoutMs = 15_000;

export interface Released {
  readonly node: string;
  readonly incident: string | null;
  readonly outcome: NodeOutcome['outcome'] | 'releasing';
  readonly because: string | null;
}

export async function releaseByWorkflow(
  session: Session,
  node: string,
  request: OperatorRequest,
  taskQueue: string,
): Promise<Released> {
  const { startWorkflow } = await import('../clients/start-workflow.ts');
  const { sendUpdate } = await import('../clients/workflows.ts');
  const client = await session.temporal();
  const release = () => sendUpdate<{ incident: string }>(client, nodeWorkflowId(node), updates.release, request);
  const { incident } = await release()
    .catch(async (error: unknown) => {
      // The workflow was terminated while the node had the taint: a new one adopts the quarantine and then releases it.
      if (!(error instanceof KcoverError) || error.code !== 'not-found' || !(await isOurs(await session.kube(), node)))
        throw error;
      await startWorkflow(client, nodeStart(node, taskQueue));
      return release();
    })
    .catch((error: unknown) => {
      throw explained(error, node);
    });
  const outcome = await awaitEnd(client, node);
  return {
    node,
    incident: incident === '' ? null : incident,
    outcome: outcome?.outcome ?? 'releasing',
    because: outcome?.because ?? null,
  };
}

async function isOurs(kube: Kube, name: string): Promise<boolean> {
  const { readNode } = await import('../../kube/nodes/nodes.ts');
  return (await readNode(kube, name))?.metadata?.annotations?.[annotations.quarantineIncident] !== undefined;
}

function explained(error: unknown, node: string): unknown {
  if (!(error instanceof KcoverError)) return error;
  if (error.code === 'refused')
    return new KcoverError('refused', error.because, {
      what: `node ${node} is not released`,
      remedy: 'kcover node list',
    });
  if (error.code === 'not-found')
    return new KcoverError('not-found', `node ${node} has no running workflow`, {
      what: 'there is nothing to release',
      remedy: 'kcover node list',
    });
  return error;
}

/** Result of the node's workflow; undefined when it has not ended by the timeout. */
async function awaitEnd(client: Client, node: string): Promise<NodeOutcome | undefined> {
  try {
    return await client.withDeadline(Date.now() + timeoutMs, async () => {
      const outcome: NodeOutcome = await client.workflow.getHandle(nodeWorkflowId(node)).result();
      return outcome;
    });
  } catch {
    return undefined;
  }
}
