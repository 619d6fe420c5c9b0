import type { Client } from '@temporalio/client';
import { nodeWorkflowId, workflowTypes } from '../../contract/ids.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import { listWorkflows, statusOf } from './workflows.ts';

/** The status of every running node workflow, by node: there are only few at a time. One that ends meanwhile, or does not answer, is left out. */
export async function nodeStatuses(client: Client): Promise<ReadonlyMap<string, NodeStatus>> {
  const running = await listWorkflows(
    client,
    `WorkflowType = '${workflowTypes.nodeQuarantine}' AND ExecutionStatus = 'Running'`,
  );
  const waiting = running.map(({ workflowId }) => workflowId);
  const found = new Map<string, NodeStatus>();
  const ask = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const status = await statusOf(client, 'nodeQuarantine', id).catch(() => undefined);
      if (status && nodeWorkflowId(status.node) === id) found.set(status.node, status);
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  return found;
}
