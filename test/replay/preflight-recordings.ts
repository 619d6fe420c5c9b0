/** Scenarios of the workflow that collects preflight reports. */

import type { WorkflowHandle } from '@temporalio/client';
import { preflightWorkflowId } from '../../contract/ids.ts';
import type { CollectedReport } from '../../contract/preflight/preflight.ts';
import type { PreflightStatus } from '../../contract/preflight/runs.ts';
import { reportsOf } from '../support/preflight-reports.ts';
import { eventually } from '../support/rig.ts';
import type { ReplayFixture, Recording } from './recording.ts';

export const preflightRecordings: readonly Recording[] = [
  async (fixture) => {
    const handle = await report(fixture, reportsOf({ size: 8, slow: [3] }));
    await preflightIs(handle, 1);
    await report(fixture, reportsOf({ size: 8, attempt: 2 }).slice(0, 5));
    await report(fixture, reportsOf({ size: 8, attempt: 3 }));
    await preflightIs(handle, 3);
    return { 'preflight/slow-node-then-superseded-then-healthy': await workloadGone(fixture, handle) };
  },
];

const workloadOf = ({ cluster }: ReplayFixture) => ({
  namespace: cluster.job.namespace,
  name: cluster.job.name,
  uid: cluster.job.uid,
  job: cluster.job,
});

function report(fixture: ReplayFixture, reports: readonly CollectedReport[]): Promise<WorkflowHandle> {
  const workload = workloadOf(fixture);
  return fixture.rig.client.workflow.signalWithStart('preflight', {
    workflowId: preflightWorkflowId(workload),
    taskQueue: fixture.rig.taskQueue,
    args: [{ workload }],
    signal: 'reportsArrived',
    signalArgs: [{ reports, refused: [] }],
  });
}

const preflightIs = (handle: WorkflowHandle, run: number) =>
  eventually(
    () => handle.query<PreflightStatus>('status'),
    ({ last, phase }) => last?.run === run && phase === 'waiting',
  );

async function workloadGone({ cluster }: ReplayFixture, handle: WorkflowHandle): Promise<string> {
  cluster.workload = { kind: 'gone', because: 'the job object is gone' };
  await handle.signal('podsGone');
  await handle.result();
  return handle.workflowId;
}
