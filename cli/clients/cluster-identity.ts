/** One Temporal namespace serves one Kubernetes cluster: the workflow `cluster` was started with its UID. */

import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { KcoverError } from '../../contract/errors.ts';
import { clusterWorkflowId } from '../../contract/ids.ts';
import { clusterStart } from '../../contract/wire/starts.ts';
import { startWorkflow } from './start-workflow.ts';
import { temporalError } from './temporal.ts';

/** Starts the workflow `cluster`, or finds it; throws `cluster.other` when it was started for another cluster. */
export async function claimCluster(client: Client, clusterUid: string, taskQueue: string): Promise<void> {
  await startWorkflow(client, clusterStart(clusterUid, taskQueue));
  await requireSameCluster(client, clusterUid);
}

/** Throws `cluster.other` when this Temporal namespace serves another cluster. Passes when it serves none yet. */
export async function requireSameCluster(client: Client, clusterUid: string): Promise<void> {
  const recorded = await recordedUid(client);
  if (recorded === undefined || recorded === clusterUid) return;
  throw new KcoverError(
    'cluster.other',
    `Temporal namespace ${client.options.namespace} serves the cluster with UID ${recorded}, and this one has ${clusterUid}`,
  );
}

/** UID of the cluster that this Temporal namespace serves; undefined before the first worker. It is read from the start event, because a query needs a worker, and no worker may run before the UID is checked. */
export async function recordedUid(client: Client): Promise<string | undefined> {
  try {
    const { history } = await client.withDeadline(Date.now() + 10_000, () =>
      client.workflowService.getWorkflowExecutionHistory({
        namespace: client.options.namespace,
        execution: { workflowId: clusterWorkflowId },
        maximumPageSize: 1,
      }),
    );
    const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads;
    const [input]: unknown[] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads);
    return typeof input === 'object' && input !== null && 'clusterUid' in input && typeof input.clusterUid === 'string'
      ? input.clusterUid
      : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || (error instanceof Error && 'code' in error && error.code === 5))
      return undefined;
    throw temporalError(error, 'read which cluster Temporal serves');
  }
}
