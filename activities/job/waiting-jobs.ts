/** Jobs that wait to learn whether a fault of a node explains why a pod of theirs failed there. Their workflows carry the node in a search attribute meanwhile. */

import type { Client } from '@temporalio/client';
import type { Fault } from '../../contract/faults/faults.ts';
import { workflowTypes } from '../../contract/ids.ts';
import { quoted } from '../../contract/wire/visibility.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import type { Dependencies } from '../dependencies.ts';
import { signalRunning } from './fault-signal.ts';

/** Time-out of the list, ms. */
const listMs = 5000;

/** More jobs than this had no pod on one node. */
const most = 100;

/**
 * Notifies those that were not notified yet, and returns the ids of their workflows. Visibility may be slow or down: a job that is missed asks the
 * workflow of the node by itself when it decides.
 */
export async function notifyWaitingJobs(
  { temporal, now, log }: Pick<Dependencies, 'temporal' | 'now' | 'log'>,
  { node, faults }: { readonly node: string; readonly faults: readonly Fault[] },
  notified: readonly string[],
): Promise<readonly string[]> {
  try {
    const found = await temporal().withDeadline(now() + listMs, () => waitingFor(temporal(), node));
    const waiting = found.filter((id) => !notified.includes(id));
    return (await inParallel(waiting, (id) => signalRunning(temporal(), id, concerning(faults, [uidIn(id)])))).flat();
  } catch (error) {
    log.warn({ node, error }, 'the jobs that wait for faults of a node could not be notified');
    return [];
  }
}

/** Faults for every job on the node, and those for one of these jobs alone. */
export const concerning = (faults: readonly Fault[], uids: readonly string[]): readonly Fault[] =>
  faults.filter((fault) => fault.job === undefined || uids.includes(fault.job));

async function waitingFor(client: Client, node: string): Promise<readonly string[]> {
  const query = `WorkflowType = '${workflowTypes.trainingJob}' AND ExecutionStatus = 'Running' AND KcoverNode = ${quoted(node)}`;
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) if (ids.push(workflowId) >= most) break;
  return ids;
}

/** The UID of the job, with which the id of its workflow ends. */
const uidIn = (workflowId: string): string => workflowId.slice(workflowId.lastIndexOf('/') + 1);
