/** Steps of a scenario: a job is watched, receives faults, and goes. */

import type { WorkflowHandle } from '@temporalio/client';
import type { Fault } from '../../contract/faults/faults.ts';
import { jobWorkflowId } from '../../contract/ids.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';
import type { JobProgress } from '../../contract/progress/progress.ts';
import { eventually } from '../support/rig.ts';
import type { ReplayFixture } from './recording.ts';

export const request = { by: 'ada', reason: 'replaced the card' };

export const statusOf = (job: WorkflowHandle) => job.query<JobStatus>('status');

export function watch({ rig, cluster }: ReplayFixture): Promise<WorkflowHandle> {
  return rig.client.workflow.start('trainingJob', {
    workflowId: jobWorkflowId(cluster.job),
    taskQueue: rig.taskQueue,
    args: [{ job: cluster.job }],
  });
}

export const signalFaults = (job: WorkflowHandle, ...faults: Fault[]): Promise<void> =>
  job.signal('faultsObserved', { faults });

/** The id of the incident with this outcome. */
export async function outcome(job: WorkflowHandle, wanted: string): Promise<string> {
  const { last } = await eventually(
    () => statusOf(job),
    (seen) => seen.last?.outcome === wanted,
  );
  return last?.incident ?? '';
}

export async function gone({ cluster }: ReplayFixture, job: WorkflowHandle): Promise<string> {
  cluster.view = null;
  await job.signal('jobObserved', { change: 'gone' });
  await job.result();
  return job.workflowId;
}

export async function recoveryIs({ rig }: ReplayFixture, job: WorkflowHandle, phase: string): Promise<void> {
  const { incident = '' } = await eventually(
    () => statusOf(job),
    (seen) => seen.incident !== undefined,
  );
  await eventually(
    () => rig.client.workflow.getHandle(incident).query<RecoveryStatus>('status'),
    (seen) => seen.phase === phase,
  );
}

export function train({ cluster }: ReplayFixture, step: number, more: Partial<JobProgress> = {}): void {
  if (cluster.view) cluster.view = { ...cluster.view, progress: { step, at: new Date().toISOString(), ...more } };
}
