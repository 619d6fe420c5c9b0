import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { MaintenanceOutcome, MaintenancePhase, MaintenanceStatus } from '../../contract/node/maintenance.ts';
import { updates } from '../../contract/wire/messages.ts';
import { maintenanceStart } from '../../contract/wire/starts.ts';
import { nodeView } from '../support/builders.ts';
import { activitiesOf, FakeCluster } from '../support/fake-cluster.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

const by = { by: 'ada', reason: 'driver 580' };
const hour = 3_600_000;
const activities = activitiesOf(() => cluster);

let cluster = new FakeCluster();
let rig: Rig;
let node = '';
const started: string[] = [];

beforeAll(async () => {
  rig = await startRig(activities);
});
beforeEach(() => {
  cluster = new FakeCluster();
  node = `gpu-${randomUUID()}`;
  cluster.nodes.set(node, nodeView({ name: node, uid: `uid-${node}` }));
});
afterAll(async () => {
  for (const id of started) rig.replayAtEnd(id);
  await rig.close();
});

async function plan(fromMs: number, untilMs: number, on = rig): Promise<WorkflowHandle> {
  const now = Date.now();
  const input = { node, plan: { ...by, from: now + fromMs, until: now + untilMs } };
  const { workflowType, workflowId, taskQueue, args } = maintenanceStart(input, on.taskQueue);
  started.push(workflowId);
  return on.client.workflow.start(workflowType, { workflowId, taskQueue, args });
}
const status = (handle: WorkflowHandle) => handle.query<MaintenanceStatus>('status');
const isIn = (handle: WorkflowHandle, phase: MaintenancePhase) =>
  eventually(
    () => status(handle),
    (seen) => seen.phase === phase,
  );
const outcome = (handle: WorkflowHandle) => handle.result() as Promise<MaintenanceOutcome>;
const cancel = (handle: WorkflowHandle) =>
  handle.executeUpdate(updates.cancel, { args: [{ by: 'bob', reason: 'not today' }] });
const replan = (handle: WorkflowHandle, fromMs: number, untilMs: number) =>
  handle.executeUpdate(updates.replan, {
    args: [{ ...by, from: Date.now() + fromMs, until: Date.now() + untilMs }],
  });
const ordered = () => cluster.maintenance.orders;

describe('a planned maintenance', () => {
  it('quarantines the node at its lead, hands it over when its jobs have left, and releases it at its end', async () => {
    cluster.maintenance.jobs = ['pytorchjob/llm in train'];
    const handle = await plan(2 * hour, 3 * hour);
    await eventually(
      () => cluster.reasons(),
      (all) => all.includes('NodeMaintenancePlanned'),
    );
    expect(await status(handle)).toMatchObject({ phase: 'planned', because: expect.stringContaining('driver 580') });
    expect(ordered()).toEqual([]);

    await replan(handle, 30_000, hour);
    expect(await isIn(handle, 'moving')).toMatchObject({ jobs: ['pytorchjob/llm in train'] });
    await eventually(
      () => cluster.notifiedStates,
      (all) => all.length > 0,
    );
    cluster.maintenance.jobs = [];
    await isIn(handle, 'in-maintenance');

    await replan(handle, 0, 500);
    expect(await outcome(handle)).toMatchObject({ outcome: 'returned', because: expect.stringContaining('is over') });
    expect(ordered()).toEqual([`quarantine ${node}`, `release ${node}`]);
    expect(cluster.notifiedStates).toEqual(['quarantined']);
    expect(cluster.reasons().filter((reason) => reason !== 'NodeMaintenancePlanned')).toEqual([
      'NodeReadyForMaintenance',
      'NodeMaintenanceEnded',
    ]);
  });

  it('that is cancelled before its lead writes nothing; one under way releases the node and lets its jobs stay', async () => {
    const early = await plan(2 * hour, 3 * hour);
    await cancel(early);
    expect(await outcome(early)).toEqual({ node, outcome: 'cancelled', because: 'bob: not today' });
    expect(ordered()).toEqual([]);

    cluster.maintenance.jobs = ['pytorchjob/llm in train'];
    const late = await plan(30_000, hour);
    await eventually(
      () => cluster.notifiedStates,
      (all) => all.length > 0,
    );
    await cancel(late);
    expect(await outcome(late)).toMatchObject({ outcome: 'cancelled' });
    expect(ordered()).toEqual([`quarantine ${node}`, `release ${node}`]);
    expect(cluster.notifiedStates).toEqual(['quarantined', 'released']);
  });

  it('is held while kcover is paused or only observes, and says so once', async () => {
    cluster.maintenance.hold = 'paused by bob: network work';
    const handle = await plan(30_000, hour);
    await eventually(
      () => cluster.reasons(),
      (all) => all.includes('NodeMaintenanceHeld'),
    );
    expect(await status(handle)).toMatchObject({
      phase: 'planned',
      because: expect.stringMatching(/^held: paused by bob: network work; would quarantine/),
    });
    expect(ordered()).toEqual([]);
    cluster.maintenance.hold = undefined;
    await isIn(handle, 'in-maintenance');
    await cancel(handle);
    await outcome(handle);
    expect(cluster.reasons().filter((reason) => reason === 'NodeMaintenanceHeld')).toHaveLength(1);
  });

  it('ends as kept where a fault came meanwhile, and as failed where the node is gone', async () => {
    cluster.maintenance.kept = 'a fault came meanwhile: xid/79';
    const kept = await plan(0, 1500);
    expect(await outcome(kept)).toEqual({ node, outcome: 'kept', because: 'a fault came meanwhile: xid/79' });

    cluster.nodes.delete(node);
    expect(await outcome(await plan(0, hour))).toMatchObject({
      outcome: 'failed',
      because: `there is no node ${node}`,
    });
  });

  it('refuses a window that cannot be, and a change of one that is ending', async () => {
    const handle = await plan(2 * hour, 3 * hour);
    await expect(replan(handle, 2 * hour, hour)).rejects.toMatchObject({
      cause: { message: 'its begin is not before its end' },
    });
    await cancel(handle);
    await outcome(handle);
    await expect(outcome(await plan(-2 * hour, -hour))).rejects.toMatchObject({
      cause: { message: 'its end is in the past' },
    });
  });

  it('does nothing twice when its worker is restarted in the middle', async () => {
    const first = await startRig(activities);
    cluster.maintenance.jobs = ['pytorchjob/llm in train'];
    const handle = await plan(hour / 60, hour, first);
    started.pop();
    await eventually(
      () => cluster.notifiedStates,
      (all) => all.length > 0,
    );
    await first.close();
    cluster.maintenance.jobs = [];
    const second = await startRig(activities, { taskQueue: first.taskQueue });
    try {
      const again = second.client.workflow.getHandle(handle.workflowId);
      await isIn(again, 'in-maintenance');
      await cancel(again);
      expect(await outcome(again)).toMatchObject({ outcome: 'cancelled' });
      expect(ordered()).toEqual([`quarantine ${node}`, `release ${node}`]);
      expect(cluster.notifiedStates).toEqual(['quarantined']);
      second.replayAtEnd(handle.workflowId);
    } finally {
      await second.close();
    }
  });
});
