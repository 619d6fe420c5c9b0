/** Recoveries of a job that trains: its overrides, and helpers to follow its incidents. */

import type { WorkflowHandle } from '@temporalio/client';
import type { Fault } from '../../contract/faults/faults.ts';
import type { JobOverrides } from '../../contract/job/job-overrides.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { kernelFault, podFault } from './builders.ts';
import type { JobRig } from './job-rig.ts';
import { eventually } from './rig.ts';

export const quick = { correlation: '0s', budget: { backoff: { first: '1ms', most: '1ms' } } };
export const ada = { by: 'ada', reason: 'looked at it' };

/** A GPU whose memory is about to be remapped: training continues for a while. */
export const degrading = (more: Partial<Fault> = {}): Fault =>
  kernelFault({ code: 'xid/63', message: 'row remapping is pending', action: 'reset-gpu', ...more });

export const trains = (jobRig: JobRig, overrides: Partial<JobOverrides> = {}): void => {
  const progress = {
    step: 1290,
    checkpointStep: 1200,
    at: new Date().toISOString(),
    pace: { msPerStep: 6000, stepsPerCheckpoint: 100 },
  };
  if (jobRig.cluster.view)
    jobRig.cluster.view = { ...jobRig.cluster.view, gpus: 32, progress, overrides: { ignored: [], ...overrides } };
};

export async function recovering(
  jobRig: JobRig,
  handle: WorkflowHandle,
  phase: RecoveryStatus['phase'],
): Promise<WorkflowHandle> {
  const { incident = '' } = await eventually(
    () => jobRig.status(handle),
    (seen) => seen.incident !== undefined && seen.phase === 'recovering',
  );
  const recovery = jobRig.rig.client.workflow.getHandle(incident);
  await eventually(
    () => recovery.query<RecoveryStatus>('status'),
    (seen) => seen.phase === phase,
  );
  return recovery;
}

export const ends = async (jobRig: JobRig, handle: WorkflowHandle, outcome: string): Promise<string> => {
  const { last } = await eventually(
    () => jobRig.status(handle),
    (seen) => seen.last?.outcome === outcome && seen.incident === undefined,
  );
  jobRig.rig.replayAtEnd(last?.incident ?? '');
  return last?.because ?? '';
};

/** A container of one of its pods fails now. */
export function crash({ cluster }: JobRig, index = 2): Fault {
  const { name, uid, node } = cluster.pods[index] ?? { name: '', uid: '', node: '' };
  const at = new Date().toISOString();
  return podFault({
    id: `pod/${uid}`,
    ...(node === undefined ? {} : { node }),
    seenAt: at,
    pod: { name, uid, createdAt: at },
  });
}
