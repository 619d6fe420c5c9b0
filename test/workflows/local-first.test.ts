import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { recoveryId, workflowTypes } from '../../contract/ids.ts';
import type { RecoveryInput } from '../../contract/recovery/recovery.ts';
import { kernelFault } from '../support/builders.ts';
import { FakeCluster } from '../support/fake-cluster.ts';
import { type Rig, startRig } from '../support/rig.ts';

const cluster = new FakeCluster();
/** What resumes the job, and what ends without an answer. */
const seen: string[] = [];
let rig: Rig;

beforeAll(async () => {
  const activities = cluster.activities();
  rig = await startRig({
    ...activities,
    resumeJob: async (request) => {
      if (!activityInfo().isLocal) {
        seen.push('ordinary activity');
        return activities.resumeJob(request);
      }
      const ended = cancellationSignal();
      await new Promise<void>((resolve) => ended.addEventListener('abort', () => resolve()));
      seen.push('local activity aborted');
      throw ended.reason;
    },
  });
});
afterAll(() => rig.close());

it('a job that is not resumed at once is resumed by an ordinary activity, after the local one was aborted', async () => {
  const incident = recoveryId(cluster.job, Date.now());
  const input: RecoveryInput = {
    incident,
    job: cluster.job,
    faults: [cluster.quarantined(kernelFault())],
    limits: { attempts: 3, holdMs: 60_000, stopMs: 60_000, restartMs: 600_000, placementMs: 600_000 },
  };
  const recovery = await rig.client.workflow.start(workflowTypes.recovery, {
    workflowId: incident,
    taskQueue: rig.taskQueue,
    args: [input],
  });
  expect(await recovery.result()).toMatchObject({ outcome: 'restarted' });
  expect(seen).toEqual(['local activity aborted', 'ordinary activity']);
});
