import { activityInfo } from '@temporalio/activity';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { recoveryId, workflowTypes } from '../../contract/ids.ts';
import type { RecoveryInput } from '../../contract/recovery/recovery.ts';
import { kernelFault } from '../support/builders.ts';
import { FakeCluster } from '../support/fake-cluster.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

const cluster = new FakeCluster();
const [begun, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
let rig: Rig;

beforeAll(async () => {
  const activities = cluster.activities();
  rig = await startRig(
    {
      ...activities,
      resumeJob: async (request) => {
        // An ordinary activity runs while no workflow does.
        if (activityInfo().isLocal) throw new Error('not at once');
        begun.resolve();
        await allowed.promise;
        return activities.resumeJob(request);
      },
    },
    { activitiesOnly: true },
  );
});
afterAll(() => rig.close());

it('ends and writes its Events where one task brings it the cancellation and the answer that it waited for', async () => {
  const before = await rig.runWorkflows();
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
  await begun.promise;
  await before.stop();

  await recovery.cancel();
  allowed.resolve();
  await eventually(
    async () => (await recovery.fetchHistory()).events?.at(-1)?.activityTaskCompletedEventAttributes,
    (completed) => completed !== null && completed !== undefined,
  );
  const after = await rig.runWorkflows();
  expect(await recovery.result()).toMatchObject({ outcome: 'cancelled' });
  expect(cluster.reasons()).toContain('AttemptStopped');
  await after.stop();
});
