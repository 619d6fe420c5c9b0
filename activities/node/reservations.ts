/** Reserves quarantines with the cluster's workflow, with one update in flight for each worker. */

import { WithStartWorkflowOperation } from '@temporalio/client';
import { type Workflow, WorkflowNotFoundError } from '@temporalio/common';
import type { Activities } from '../../contract/wire/activities.ts';
import type {
  ClusterStatus,
  ReserveAnswer,
  ReserveLimit,
  ReserveRequest,
  Reservation,
  Returned,
} from '../../contract/cluster.ts';
import { clusterWorkflowId, nodeWorkflowId } from '../../contract/ids.ts';
import { signals, statusQuery, updates } from '../../contract/wire/messages.ts';
import { searchAttributePairs } from '../../contract/wire/search-attributes.ts';
import { clusterStart } from '../../contract/wire/starts.ts';
import { clusterUid } from '../../kube/client/connection.ts';
import { acceleratorCounter, nodeView, readNode } from '../../kube/nodes/nodes.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import type { Dependencies } from '../dependencies.ts';
import { createBatcher } from '../batcher.ts';

type WantedReservation = ReserveRequest['wanted'][number];

/** Time-out of the cluster's workflow, ms. */
const answerMs = 10_000;

/** A reservation younger than this belongs to a quarantine that is being written: it is not checked. */
const settledMs = 60_000;

export function reservationActivities({
  kube,
  settings,
  temporal,
  now,
}: Dependencies): Pick<Activities, 'reserveQuarantine'> {
  const { limit: setting, taint } = settings.quarantine;
  const countAccelerators = acceleratorCounter(kube, now);
  const cluster = () => temporal().workflow.getHandle(clusterWorkflowId);
  let uid: string | undefined;

  async function limit(): Promise<ReserveLimit> {
    const nodes = await countAccelerators();
    const most = Math.max(setting.atLeast, Math.floor((nodes * setting.percent) / 100));
    const { percent, perNamespace } = settings.preflight.limit;
    return {
      nodes: most,
      because: `${setting.percent}% of ${nodes} nodes with accelerators, at least ${setting.atLeast}`,
      preflight: {
        nodes: Math.floor((most * percent) / 100),
        perNamespace,
        because: `preflight.limit: ${percent}% of the ${most} nodes that may be out, ${perNamespace} for a namespace`,
      },
    };
  }

  /** Starts the workflow if it does not run: Temporal or a person may have terminated it. */
  async function ask(wanted: readonly WantedReservation[], most: ReserveLimit): Promise<readonly ReserveAnswer[]> {
    const request: ReserveRequest = { limit: most, wanted };
    uid ??= await clusterUid(kube);
    const { workflowType, attributes, ...start } = clusterStart(uid, settings.temporal.taskQueue);
    const startWorkflowOperation = new WithStartWorkflowOperation<Workflow>(workflowType, {
      ...start,
      workflowIdConflictPolicy: 'USE_EXISTING',
      typedSearchAttributes: searchAttributePairs(attributes),
    });
    // A call that hangs would hold up every reservation of this worker.
    return temporal().withDeadline(now() + answerMs, () =>
      temporal().workflow.executeUpdateWithStart<Workflow, readonly ReserveAnswer[], [ReserveRequest]>(
        updates.reserve,
        {
          args: [request],
          startWorkflowOperation,
        },
      ),
    );
  }

  /** Abandoned means: the node has no taint of ours, and no workflow is about to write one. A failed write may be retried much later. */
  async function isAbandoned({ node: name, nodeUid }: Reservation): Promise<boolean> {
    const node = await readNode(kube, name);
    if (node?.metadata?.uid === nodeUid && nodeView(node, taint).taint?.ours) return false;
    return !(await isSupervised(name));
  }

  async function isSupervised(node: string): Promise<boolean> {
    try {
      return (await temporal().workflow.getHandle(nodeWorkflowId(node)).describe()).status.name === 'RUNNING';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }

  /** Releases abandoned reservations; true when there were any. */
  async function reconcile(): Promise<boolean> {
    const { reservations } = await cluster().query<ClusterStatus>(statusQuery);
    const settled = reservations.filter((each) => now() - each.since > settledMs);
    const abandoned = await inParallel(settled, async (each) => ((await isAbandoned(each)) ? [each.nodeUid] : []));
    const returned: Returned = { nodeUids: abandoned.flat() };
    if (returned.nodeUids.length === 0) return false;
    await cluster().signal(signals.returned, returned);
    return true;
  }

  async function reserve(wanted: readonly WantedReservation[]): Promise<readonly ReserveAnswer[]> {
    const most = await limit();
    const answers = await ask(wanted, most);
    const refused = wanted.filter((each) => answerFor(each, answers)?.granted !== true);
    if (refused.length === 0 || !(await reconcile())) return inOrder(wanted, answers);
    return inOrder(wanted, [...(await ask(refused, most)), ...answers]);
  }

  const reserveOne = createBatcher(reserve);
  return { reserveQuarantine: (request) => reserveOne(request) };
}

const answerFor = ({ nodeUid }: WantedReservation, answers: readonly ReserveAnswer[]): ReserveAnswer | undefined =>
  answers.find((answer) => answer.nodeUid === nodeUid);

const inOrder = (wanted: readonly WantedReservation[], answers: readonly ReserveAnswer[]): ReserveAnswer[] =>
  wanted.map(
    (each) =>
      answerFor(each, answers) ?? { granted: false, nodeUid: each.nodeUid, because: 'the cluster gave no answer' },
  );
