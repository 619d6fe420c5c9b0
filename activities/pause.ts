/** Whether a person has paused the whole cluster, even if the workflow that holds the pause is gone, or one job. */

import { defineSearchAttributeKey, WorkflowNotFoundError } from '@temporalio/common';
import type { ClusterStatus } from '../contract/cluster.ts';
import { KcoverError } from '../contract/errors.ts';
import { clusterWorkflowId, jobWorkflowId, searchAttributes } from '../contract/ids.ts';
import type { JobRef } from '../contract/job/jobs.ts';
import { type OperatorRequest, statusQuery } from '../contract/wire/messages.ts';
import type { JobStatus } from '../contract/job/training-job.ts';
import { readPause } from '../kube/stored-pause.ts';
import type { Dependencies } from './dependencies.ts';

const phaseKey = defineSearchAttributeKey('KcoverPhase', searchAttributes.KcoverPhase);

/** Throws when it cannot be found out: no answer does not mean that nothing is paused. */
export async function pauseOfCluster({
  kube,
  namespace,
  temporal,
}: Pick<Dependencies, 'kube' | 'namespace' | 'temporal'>): Promise<OperatorRequest | undefined> {
  const answer = await askWorkflow(temporal);
  if (answer !== 'unknown') return answer;
  // No workflow holds it now, or the one that does has not read it yet.
  const kept = await readPause(kube, namespace);
  return kept?.state === 'paused' ? { by: kept.by, reason: kept.reason } : undefined;
}

/** The server itself knows the phase. A query needs a worker, so it is sent only for the name and reason of a pause. */
async function askWorkflow(temporal: Dependencies['temporal']): Promise<OperatorRequest | 'unknown' | undefined> {
  try {
    const cluster = temporal().workflow.getHandle(clusterWorkflowId);
    const { status, typedSearchAttributes } = await cluster.describe();
    if (status.name !== 'RUNNING') return 'unknown';
    if (typedSearchAttributes.get(phaseKey) === 'open') return undefined;
    const { paused, phase } = await cluster.query<ClusterStatus>(statusQuery);
    if (paused) return { by: paused.by, reason: paused.reason };
    return phase === 'counting' ? 'unknown' : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'unknown';
    throw new KcoverError(
      'temporal.unreachable',
      `ask whether kcover is paused: ${error instanceof Error ? error.message : 'unknown failure'}`,
    );
  }
}

/** Time-out of a query, which needs a worker that runs workflows, ms. */
const jobAnswerMs = 5000;

/** Only the job's workflow holds the pause, and it notifies the recovery too. If it is gone, or does not answer in time, the job counts as not paused. */
export async function pauseOfJob(
  { temporal, now }: Pick<Dependencies, 'temporal' | 'now'>,
  job: JobRef,
): Promise<OperatorRequest | undefined> {
  const handle = temporal().workflow.getHandle(jobWorkflowId(job));
  try {
    return await temporal().withDeadline(now() + jobAnswerMs, async () => {
      // A query of a closed workflow would replay its whole history.
      if ((await handle.describe()).status.name !== 'RUNNING') return undefined;
      const { paused } = await handle.query<JobStatus>(statusQuery);
      return paused && { by: paused.by, reason: paused.reason };
    });
  } catch {
    return undefined;
  }
}
