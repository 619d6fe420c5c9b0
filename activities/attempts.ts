/** Looks at an attempt, stops it, and waits for the next one. */

import { defineSearchAttributeKey, WorkflowNotFoundError } from '@temporalio/common';
import type { Activities } from '../contract/activities.ts';
import type { ClusterStatus } from '../contract/cluster.ts';
import { KcoverError } from '../contract/errors.ts';
import { clusterWorkflowId, nodeWorkflowId, searchAttributes } from '../contract/ids.ts';
import { statusQuery } from '../contract/messages.ts';
import type { NodeStatus } from '../contract/nodes.ts';
import type { AttemptFacts } from '../contract/recovery.ts';
import { readJob } from '../kube/jobs.ts';
import { nodeView, readNode } from '../kube/nodes.ts';
import { inParallel } from '../kube/parallel.ts';
import { podsOfJob } from '../kube/pods.ts';
import { decides } from '../policy/pod-watch.ts';
import { awaitAttempt } from './await-attempt.ts';
import type { Dependencies } from './dependencies.ts';
import { captureEvidence } from './evidence.ts';
import { withSight } from './sight.ts';
import { stopAttempt } from './stop-attempt.ts';
import { verifyProgress } from './verify-progress.ts';

type Attempts = Pick<Activities, 'observeAttempt' | 'stopAttempt' | 'awaitAttempt' | 'verifyProgress' | 'captureEvidence'>;

const phaseKey = defineSearchAttributeKey('KcoverPhase', searchAttributes.KcoverPhase);

export function attemptActivities(dependencies: Dependencies): Attempts {
  const { kube, settings, temporal } = dependencies;
  const { taint } = settings.quarantine;

  /**
   * A cluster whose workflow was never started is not paused; one that cannot be asked may be.
   * The server itself knows the phase: a query waits for a worker, and is asked only for the words of a pause.
   */
  async function pause(): Promise<AttemptFacts['paused']> {
    try {
      const cluster = temporal().workflow.getHandle(clusterWorkflowId);
      if ((await cluster.describe()).typedSearchAttributes.get(phaseKey) === 'open') return undefined;
      const { paused } = await cluster.query<ClusterStatus>(statusQuery);
      return paused && { by: paused.by, reason: paused.reason };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw new KcoverError('temporal.unreachable', `ask whether kcover is paused: ${error instanceof Error ? error.message : 'unknown failure'}`);
    }
  }

  /** The fault of a pod may overtake that of its node: whether the node's workflow is still about to decide. */
  async function undecidedNode(node: string): Promise<AttemptFacts['undecided'][number] | undefined> {
    const handle = temporal().workflow.getHandle(nodeWorkflowId(node));
    try {
      // One that ended decides nothing, and a query would have its whole history replayed.
      if ((await handle.describe()).status.name !== 'RUNNING') return undefined;
      const { phase, because } = await handle.query<NodeStatus>(statusQuery);
      return phase === 'deciding' ? { node, because } : undefined;
    } catch (error) {
      return error instanceof WorkflowNotFoundError ? undefined : { node, because: 'its workflow does not answer' };
    }
  }

  async function observeAttempt({ job: ref, nodes: names }: Parameters<Attempts['observeAttempt']>[0]): Promise<AttemptFacts> {
    const [job, { present: pods, leaving, oldestAt, succeeded }, nodes, paused] = await Promise.all([
      readJob(kube, ref, taint),
      podsOfJob(kube, ref),
      inParallel(names, (name) => readNode(kube, name)),
      pause(),
    ]);
    const views = nodes.flatMap((node) => (node ? [nodeView(node, taint)] : []));
    const open = await inParallel(
      views.filter((node) => !node.taint).map((node) => node.name),
      undecidedNode,
    );
    const decided = job && succeeded.find((pod) => decides(job, pod));
    return {
      ...(job && { job }),
      ...(decided && { succeeded: decided.name }),
      pods,
      ...(oldestAt !== undefined && { oldestPodAt: oldestAt }),
      ...(leaving.length > 0 && { leaving }),
      nodes: views,
      undecided: open.flatMap((one) => one ?? []),
      ...(paused && { paused }),
    };
  }

  return {
    observeAttempt: (request) =>
      withSight(
        () => observeAttempt(request),
        (because) => ({ pods: [], nodes: [], undecided: [], blind: because }),
      ),
    stopAttempt: (request) => stopAttempt(dependencies, request),
    awaitAttempt: (request) => awaitAttempt(dependencies, request),
    verifyProgress: (request) => verifyProgress(dependencies, request),
    captureEvidence: (request) => captureEvidence(dependencies, request),
  };
}
