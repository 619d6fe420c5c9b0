/** Set-up for tests of a job's workflow: a fake cluster for each test, a rig for the whole file, and helpers. */

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { jobWorkflowId } from '../../contract/ids.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';
import { activitiesOf, FakeCluster } from './fake-cluster.ts';
import { type Rig, startRig } from './rig.ts';

export interface JobRig {
  readonly cluster: FakeCluster;
  readonly rig: Rig;
  start(): Promise<WorkflowHandle>;
  status(handle: WorkflowHandle): Promise<JobStatus>;
  /** Deletes the job object, which ends its workflow. */
  ended(handle: WorkflowHandle): Promise<unknown>;
}

/** A job gets an outcome before the recovery has written its record and its Events; a recovery that never ends, or has no workflow, is not awaited. */
const closed = (rig: Rig, incident: string): Promise<unknown> =>
  Promise.race([
    rig.client.workflow
      .getHandle(incident)
      .result()
      .catch(() => undefined),
    sleep(2000),
  ]);

/** Call it in a describe block. Every history is replayed at the end. */
export function useJobRig(): JobRig {
  let cluster = new FakeCluster();
  let rig: Rig;
  const started: string[] = [];
  beforeAll(async () => {
    rig = await startRig(activitiesOf(() => cluster));
  });
  beforeEach(() => {
    cluster = new FakeCluster();
    cluster.client = rig.client;
  });
  afterAll(async () => {
    for (const id of started) rig.replayAtEnd(id);
    await rig.close();
  });
  return {
    get cluster() {
      return cluster;
    },
    get rig() {
      return rig;
    },
    start() {
      const workflowId = jobWorkflowId(cluster.job);
      started.push(workflowId);
      return rig.client.workflow.start('trainingJob', {
        workflowId,
        taskQueue: rig.taskQueue,
        args: [{ job: cluster.job }],
      });
    },
    async status(handle) {
      const seen = await handle.query<JobStatus>('status');
      if (seen.last) await closed(rig, seen.last.incident);
      return seen;
    },
    async ended(handle) {
      cluster.view = null;
      await handle.signal('jobObserved', { change: 'gone' });
      return handle.result();
    },
  };
}
