/** The maintenances of nodes that are planned or under way. */

import type { Client } from '@temporalio/client';
import { maintenanceWorkflowId, workflowTypes } from '../../contract/ids.ts';
import type { MaintenanceStatus } from '../../contract/node/maintenance.ts';
import { askTemporal } from './temporal.ts';
import { listWorkflows, statusOf, unlessGone } from './workflows.ts';

/** Its status; undefined where none runs. A query of a closed workflow would replay its whole history. */
export async function runningMaintenance(client: Client, node: string): Promise<MaintenanceStatus | undefined> {
  const id = maintenanceWorkflowId(node);
  const described = await unlessGone(
    askTemporal(client, `look at ${id}`, () => client.workflow.getHandle(id).describe()),
  );
  return described?.status.name === 'RUNNING' ? statusOf(client, 'maintenance', id) : undefined;
}

/** Every one that runs, by node. One that ends meanwhile, or does not answer, is left out. */
export async function runningMaintenances(client: Client): Promise<ReadonlyMap<string, MaintenanceStatus>> {
  const running = await listWorkflows(
    client,
    `WorkflowType = '${workflowTypes.maintenance}' AND ExecutionStatus = 'Running'`,
  );
  const waiting = running.map(({ workflowId }) => workflowId);
  const found = new Map<string, MaintenanceStatus>();
  const ask = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const status = await statusOf(client, 'maintenance', id).catch(() => undefined);
      if (status && maintenanceWorkflowId(status.node) === id) found.set(status.node, status);
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  return found;
}
