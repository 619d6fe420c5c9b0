/** Whether a person has paused kcover in the whole cluster. */

import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, WorkflowNotFoundError } from '@temporalio/common';
import type { ClusterStatus } from '../contract/cluster.ts';
import { KcoverError } from '../contract/errors.ts';
import { clusterWorkflowId, searchAttributes } from '../contract/ids.ts';
import { statusQuery } from '../contract/messages.ts';
import type { Held } from '../contract/recovery.ts';

const phaseKey = defineSearchAttributeKey('KcoverPhase', searchAttributes.KcoverPhase);

/**
 * A cluster whose workflow was never started is not paused; one that cannot be asked may be.
 * The server itself knows the phase: a query waits for a worker, and is asked only for the words of a pause.
 */
export async function readPause(temporal: Client): Promise<Held | undefined> {
  try {
    const cluster = temporal.workflow.getHandle(clusterWorkflowId);
    if ((await cluster.describe()).typedSearchAttributes.get(phaseKey) === 'open') return undefined;
    const { paused } = await cluster.query<ClusterStatus>(statusQuery);
    return paused && { by: paused.by, reason: paused.reason };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw new KcoverError('temporal.unreachable', `ask whether kcover is paused: ${error instanceof Error ? error.message : 'unknown failure'}`);
  }
}
