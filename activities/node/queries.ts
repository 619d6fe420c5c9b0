/** Asks the workflows of nodes what they know. */

import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { Fault } from '../../contract/faults/faults.ts';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { faultsQuery } from '../../contract/wire/messages.ts';
import type { NodeFaults } from '../../contract/node/nodes.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { faultsBehind, nodesInDoubt } from '../../policy/incident/incident.ts';

/** Answer of the node's workflow; undefined where none runs. A closed workflow decides nothing, and a query would replay its whole history. */
export async function queryNode<T>(temporal: Client, node: string, query: string): Promise<T | undefined> {
  const handle = temporal.workflow.getHandle(nodeWorkflowId(node));
  try {
    return (await handle.describe()).status.name === 'RUNNING' ? await handle.query<T>(query) : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

interface NodeQueries {
  readonly temporal: () => Client;
  readonly now: () => number;
  /** The workflow of this node did not answer. */
  readonly unanswered: (node: string, error: unknown) => void;
}

/** A decision waits for these answers, ms. */
const withinMs = 2000;

/**
 * Faults of the nodes on which pods of the job failed. A node notifies the jobs that have pods on it, but a job's controller may have replaced the
 * failed pod on another node before that. What cannot be asked in time is left out: the failure of the pod is then all that is known.
 */
export async function faultsBehindPods(
  { temporal, now, unanswered }: NodeQueries,
  faults: readonly Fault[],
): Promise<readonly Fault[]> {
  const answers = await inParallel(nodesInDoubt(faults), async (node) => {
    try {
      return await temporal().withDeadline(now() + withinMs, () =>
        queryNode<NodeFaults>(temporal(), node, faultsQuery),
      );
    } catch (error) {
      unanswered(node, error);
      return undefined;
    }
  });
  return faultsBehind(
    faults,
    answers.flatMap((answer) => answer?.faults ?? []),
  );
}
