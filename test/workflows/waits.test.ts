import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nodeWorkflowId, recoveryId, workflowTypes } from '../../contract/ids.ts';
import type { RecoveryInput } from '../../contract/recovery/recovery.ts';
import { kernelFault } from '../support/builders.ts';
import { FakeCluster } from '../support/fake-cluster.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

const waits = 2;
const limits = { attempts: 3, holdMs: 60_000, stopMs: 60_000, restartMs: 600_000, placementMs: 600_000 };

describe('as many waits as a worker has slots for', () => {
  const cluster = new FakeCluster();
  const placed = Promise.withResolvers<void>();
  let waiting = 0;
  let rig: Rig;
  beforeAll(async () => {
    const activities = cluster.activities();
    rig = await startRig(
      {
        ...activities,
        awaitAttempt: async (request) => {
          waiting += 1;
          await placed.promise;
          return activities.awaitAttempt(request);
        },
      },
      { waits },
    );
    cluster.client = rig.client;
  });
  afterAll(() => {
    placed.resolve();
    return rig.close();
  });

  /** One incident of one job among many. */
  async function recover() {
    const job = { ...cluster.job, name: `llm-${randomUUID().slice(0, 8)}` };
    const incident = recoveryId(job, Date.now());
    const input: RecoveryInput = {
      incident,
      job,
      faults: [],
      askedBy: { by: 'ada', reason: 'a zone is gone' },
      limits,
    };
    return rig.client.workflow.start(workflowTypes.recovery, {
      workflowId: incident,
      taskQueue: rig.taskQueue,
      args: [input],
    });
  }

  it('keep no job suspended and no node in use', async () => {
    const first = [await recover(), await recover()];
    await eventually(
      () => waiting,
      (many) => many === waits,
    );
    const resumes = cluster.resumes;
    cluster.place();
    // Its stop waits for a free slot, and may have been sent before: the caller that cancels it resumes the job.
    const third = await recover();
    await eventually(
      async () => (await third.describe()).raw.pendingActivities?.map(({ activityType }) => activityType?.name),
      (names) => names?.includes('stopAttempt') ?? false,
    );
    await third.cancel();
    const node = `gpu-7-${randomUUID().slice(0, 4)}`;
    cluster.nodes.set(node, { name: node, uid: node, systemUuid: node, ready: true, cordoned: false });
    const quarantine = await rig.client.workflow.signalWithStart(workflowTypes.nodeQuarantine, {
      workflowId: nodeWorkflowId(node),
      taskQueue: rig.taskQueue,
      args: [{ node }],
      signal: 'faultsObserved',
      signalArgs: [{ faults: [kernelFault({ node })] }],
    });
    await eventually(
      () => cluster.nodes.get(node)?.taint?.ours,
      (ours) => ours === true,
    );
    expect(await third.result()).toMatchObject({ outcome: 'cancelled' });
    expect(cluster.resumes).toBeGreaterThan(resumes);
    // All of that while the first two wait.
    expect(waiting).toBe(waits);
    expect((await Promise.all(first.map((one) => one.describe()))).map(({ status }) => status.name)).toEqual([
      'RUNNING',
      'RUNNING',
    ]);

    await quarantine.terminate();
    placed.resolve();
    await Promise.all(first.map((one) => one.result()));
  });
});
