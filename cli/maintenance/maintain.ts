/** Plans, replaces and cancels the maintenance of nodes. */

import type { V1Node } from '@kubernetes/client-node';
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { KcoverError } from '../../contract/errors.ts';
import { maintenanceWorkflowId } from '../../contract/ids.ts';
import type { MaintenancePlan, MaintenanceStatus } from '../../contract/node/maintenance.ts';
import { updates } from '../../contract/wire/messages.ts';
import { maintenanceStart } from '../../contract/wire/starts.ts';
import { clusterUid } from '../../kube/client/connection.ts';
import { listObjects } from '../../kube/client/requests.ts';
import { requireSameCluster } from '../clients/cluster-identity.ts';
import { runningMaintenance } from '../clients/maintenances.ts';
import type { Session } from '../clients/session.ts';
import { optionsOf } from '../clients/start-workflow.ts';
import { askTemporal } from '../clients/temporal.ts';
import { sendUpdate, sendUpdateWithStart } from '../clients/workflows.ts';
import type { CommandOutput } from '../program/command.ts';
import { table } from '../program/output.ts';
import type { MaintenanceRequest } from './request.ts';

export interface Maintain {
  readonly session: Session;
  readonly request: MaintenanceRequest;
  readonly nodes: { readonly names: readonly string[] } | { readonly selector: string };
  readonly taskQueue: string;
  readonly replace: boolean;
  readonly dryRun: boolean;
}

interface Row {
  readonly node: string;
  readonly outcome: string;
  readonly from: string | null;
  readonly until: string | null;
  readonly because: string;
}

export async function maintain(asked: Maintain): Promise<CommandOutput> {
  const { session, request, nodes } = asked;
  const [kube, client] = await Promise.all([session.kube(), session.temporal()]);
  const query = 'selector' in nodes ? { labelSelector: nodes.selector } : {};
  const found = await listObjects<V1Node>(kube, '/api/v1/nodes', query, 'list nodes');
  const known = found.map(({ metadata }) => metadata?.name ?? '').toSorted();
  const names = 'names' in nodes ? nodes.names : known;
  // The maintenance of a node that is gone can still be cancelled.
  const missing = request.kind === 'plan' ? names.find((name) => !known.includes(name)) : undefined;
  if (missing !== undefined || names.length === 0) throw noNode(missing);
  await requireSameCluster(client, await clusterUid(kube));
  const rows: Row[] = [];
  // One node after the other, so that one that is refused does not stop the others.
  for (const node of names)
    rows.push(
      await maintainOne(client, node, asked).catch((error: unknown) => {
        if (!(error instanceof KcoverError) || names.length === 1) throw error;
        return { node, outcome: 'failed', from: null, until: null, because: error.because };
      }),
    );
  return {
    data: rows,
    text: table(
      ['node', 'maintenance', 'from', 'until', 'because'],
      rows.map(({ node, outcome, from, until, because }) => [node, outcome, from ?? '', until ?? '', because]),
    ),
    exit: rows.some(({ outcome }) => outcome === 'failed') ? 'failed' : 'ok',
  };
}

async function maintainOne(
  client: Client,
  node: string,
  { request, taskQueue, replace, dryRun }: Maintain,
): Promise<Row> {
  const running = await runningMaintenance(client, node);
  if (request.kind === 'cancel') {
    if (!running) throw nothingPlanned(node);
    const { by, reason } = request;
    if (dryRun) return rowOf(running, 'would be cancelled');
    const id = maintenanceWorkflowId(node);
    return rowOf(await sendUpdate<MaintenanceStatus>(client, id, updates.cancel, { by, reason }), 'cancelled');
  }
  const { plan } = request;
  if (running && !replace) throw plannedAlready(node, running.because);
  if (dryRun) return planRow(node, plan, running ? 'would be replaced' : 'would be planned');
  const start = maintenanceStart({ node, plan }, taskQueue);
  if (replace) {
    const replaced = await sendUpdateWithStart<MaintenanceStatus>(client, start, updates.replan, plan);
    return rowOf(replaced, running ? 'replaced' : 'planned');
  }
  await askTemporal(client, `start ${start.workflowId}`, () =>
    client.workflow
      .start(start.workflowType, { ...optionsOf(start), workflowIdConflictPolicy: 'FAIL' })
      .catch((error: unknown) => {
        throw error instanceof WorkflowExecutionAlreadyStartedError ? plannedAlready(node, error.message) : error;
      }),
  );
  return planRow(node, plan, 'planned');
}

const rowOf = ({ node, from, until, because }: MaintenanceStatus, outcome: string): Row => ({
  node,
  outcome,
  from,
  until,
  because,
});

const planRow = (node: string, { from, until, by, reason }: MaintenancePlan, outcome: string): Row => ({
  node,
  outcome,
  from: new Date(from).toISOString(),
  until: new Date(until).toISOString(),
  because: `${by}: ${reason}`,
});

const noNode = (missing: string | undefined): KcoverError =>
  new KcoverError('not-found', missing === undefined ? 'no node has these labels' : `there is no node ${missing}`, {
    what: 'no maintenance is planned',
    remedy: 'kubectl get nodes',
  });

const nothingPlanned = (node: string): KcoverError =>
  new KcoverError('not-found', `no maintenance of ${node} is planned`, {
    what: 'there is nothing to cancel',
    remedy: 'kcover node list',
  });

const plannedAlready = (node: string, because: string): KcoverError =>
  new KcoverError('refused', `a maintenance of ${node} is planned already: ${because}`, {
    what: 'the maintenance is not planned',
    remedy: 'the same command with --replace, or kcover node maintain NODE --cancel',
  });
