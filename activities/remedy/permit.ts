/** Asks whether a remedy may act on its node: the Node objects and the settings first, then the workflow of the cluster. */

import type { V1Node } from '@kubernetes/client-node';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { type Workflow, WorkflowNotFoundError } from '@temporalio/common';
import type { ClusterStatus, PermitAnswer, PermitRequest, RepairEnded } from '../../contract/cluster.ts';
import { clusterWorkflowId, remedyId } from '../../contract/ids.ts';
import type { Activities } from '../../contract/wire/activities.ts';
import { signals, statusQuery, updates } from '../../contract/wire/messages.ts';
import { searchAttributePairs } from '../../contract/wire/search-attributes.ts';
import { clusterStart } from '../../contract/wire/starts.ts';
import { clusterUid } from '../../kube/client/connection.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { listObjects } from '../../kube/client/requests.ts';
import { hasAccelerators, nodeView } from '../../kube/nodes/nodes.ts';
import { whyNoRepair } from '../../policy/remedy/permit.ts';
import type { Dependencies } from '../dependencies.ts';

/** Time-out of the cluster's workflow, ms. */
const answerMs = 10_000;

/** A repair younger than this has just begun: whether its workflow runs is not looked up. */
const settledMs = 60_000;

export function permitActivities({
  kube,
  settings,
  temporal,
  now,
}: Pick<Dependencies, 'kube' | 'settings' | 'temporal' | 'now'>): Pick<Activities, 'permitRepair'> {
  const { taint, askAgain } = settings.quarantine;
  const cluster = () => temporal().workflow.getHandle(clusterWorkflowId);

  async function nodes() {
    const all = await listObjects<V1Node>(kube, '/api/v1/nodes', {}, 'list the nodes before one is repaired');
    return all.map((node) => ({ ...nodeView(node, taint), accelerated: hasAccelerators(node) }));
  }

  /** Starts the workflow if it does not run: Temporal or a person may have terminated it. */
  async function ask(request: PermitRequest): Promise<PermitAnswer> {
    const { workflowType, attributes, ...start } = clusterStart(await clusterUid(kube), settings.temporal.taskQueue);
    const startWorkflowOperation = new WithStartWorkflowOperation<Workflow>(workflowType, {
      ...start,
      workflowIdConflictPolicy: 'USE_EXISTING',
      typedSearchAttributes: searchAttributePairs(attributes),
    });
    return temporal().withDeadline(now() + answerMs, () =>
      temporal().workflow.executeUpdateWithStart<Workflow, PermitAnswer, [PermitRequest]>(updates.permitRepair, {
        args: [request],
        startWorkflowOperation,
      }),
    );
  }

  async function isRunning(workflowId: string): Promise<boolean> {
    try {
      return (await temporal().workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }

  /** Ends repairs whose workflow was terminated; true when there were any. */
  async function reconcile(): Promise<boolean> {
    const { repairs } = await cluster().query<ClusterStatus>(statusQuery);
    const settled = repairs.filter(({ since }) => now() - since > settledMs);
    const ended = await inParallel(settled, async ({ remedy }) => ((await isRunning(remedy)) ? [] : [remedy]));
    for (const remedy of ended.flat()) await cluster().signal(signals.repairEnded, { remedy } satisfies RepairEnded);
    return ended.flat().length > 0;
  }

  return {
    async permitRepair({ node, uid, incident }) {
      const all = await nodes();
      const others = all.filter(({ accelerated, taint: found }) => accelerated && !found?.ours);
      const against = whyNoRepair({ node: all.find(({ name }) => name === node), uid, incident, others }, settings);
      if (against?.kind === 'over') return { kind: 'over', because: against.because };
      if (against) return { kind: 'refused', because: against.because, askAgainMs: askAgain };
      const request = { remedy: remedyId(node, incident), node, most: settings.remediation.most };
      let answer = await ask(request);
      if (!answer.granted && (await reconcile())) answer = await ask(request);
      return answer.granted ? { kind: 'granted' } : { kind: 'refused', because: answer.because, askAgainMs: askAgain };
    },
  };
}
