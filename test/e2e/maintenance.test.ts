import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { maintenanceWorkflowId } from '../../contract/ids.ts';
import type { MaintenanceOutcome, MaintenanceStatus } from '../../contract/node/maintenance.ts';
import { updates } from '../../contract/wire/messages.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu } from '../../testbed/failures.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), { workflowBundle });
});

const begun = new Set<SimulatedNode>();

afterEach(async () => {
  await live?.runCli('resume', '--reason', 'the test is over');
  for (const { name } of begun) {
    const id = maintenanceWorkflowId(name);
    if (await live.isOpen(id))
      await live.temporal.workflow
        .getHandle(id)
        .executeUpdate(updates.cancel, { args: [{ by: 'test', reason: 'the test is over' }] });
  }
  begun.clear();
  await live?.clear();
}, 120_000);
afterAll(() => live?.close(), 120_000);

function lastNodeOf(job: LiveJob): SimulatedNode {
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} has no pod on a node`);
  begun.add(node);
  return node;
}

const window = ['--from', '5m', '--until', '1h', '--reason', 'driver 580'];
const maintain = (node: SimulatedNode, ...args: string[]) =>
  live.runCli('node', 'maintain', node.name, ...args, '-o', 'json');
const event = (node: SimulatedNode, reason: string) => live.event({ name: node.name, uid: node.uid }, reason);
const outcome = (node: SimulatedNode) =>
  live.temporal.workflow.getHandle(maintenanceWorkflowId(node.name)).result() as Promise<MaintenanceOutcome>;
const listed = async (node: SimulatedNode) => {
  const { stdout } = await live.runCli('node', 'list', '-o', 'json');
  return (JSON.parse(stdout) as { node: string; maintenance: MaintenanceStatus | null }[]).find(
    (row) => row.node === node.name,
  );
};

describe('a planned maintenance of a node with a job', () => {
  it('moves the job once, leaves the node to people, and releases it when it is ended, whichever worker runs', async () => {
    const job = await live.pytorch({ workers: 2 });
    const node = lastNodeOf(job);
    expect(await maintain(node, ...window)).toMatchObject({ code: 0 });
    await live.quarantined(node);
    const [worker] = live.kcover.workers;
    await worker?.kill('SIGKILL');
    await worker?.start();
    const records = await live.settled(job);
    expect(records).toMatchObject([{ outcome: 'restarted', stops: [{}] }]);
    expect(records[0]?.faults).toMatchObject([{ code: 'external/maintenance', node: node.name }]);
    expect(violations(await live.facts(job))).toEqual([]);
    const now = live.recorder.podsOf(job).filter(({ gone }) => gone === undefined);
    expect(now.filter((pod) => pod.node === node.name)).toEqual([]);

    expect((await event(node, 'NodeReadyForMaintenance')).message).toContain(
      `no opted-in job has pods on ${node.name} any more`,
    );
    expect(await listed(node)).toMatchObject({
      phase: 'quarantined',
      maintenance: { phase: 'in-maintenance', jobs: [] },
    });
    expect(await maintain(node, ...window)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/is planned already: .*\n +try: .*--replace/),
    });
    expect(await maintain(node, '--cancel')).toMatchObject({ code: 0 });
    expect(await outcome(node)).toMatchObject({ outcome: 'cancelled' });
    expect(live.recorder.isQuarantined(node.name)).toBe(false);
    expect(live.recorder.quarantines().filter((span) => span.node === node.name)).toHaveLength(1);
  });

  it('leaves the node quarantined for a fault that came meanwhile', async () => {
    const job = await live.pytorch();
    const node = lastNodeOf(job);
    await maintain(node, ...window);
    await live.settled(job);
    await event(node, 'NodeReadyForMaintenance');
    await breakGpu(node, xid79);
    await event(node, 'FaultObserved');
    await maintain(node, '--cancel');
    expect(await outcome(node)).toMatchObject({
      outcome: 'kept',
      because: expect.stringMatching(/^a fault came meanwhile: xid\/79 .*kcover node release/),
    });
    expect(live.recorder.isQuarantined(node.name)).toBe(true);
  });

  it('writes nothing while kcover is paused, and says what holds it', async () => {
    const job = await live.pytorch();
    const node = lastNodeOf(job);
    await live.runCli('pause', '--reason', 'network work');
    await maintain(node, ...window);
    expect((await event(node, 'NodeMaintenanceHeld')).message).toContain('held: paused by ada: network work');
    expect(live.recorder.isQuarantined(node.name)).toBe(false);
    expect(await listed(node)).toMatchObject({ phase: 'in service', maintenance: { phase: 'planned' } });
    await maintain(node, '--cancel');
    expect(await outcome(node)).toMatchObject({ outcome: 'cancelled', because: 'ada: cancelled' });
    expect(live.records(job)).toEqual([]);
  });

  it('is refused for a node that does not exist', async () => {
    const { code, stderr } = await live.runCli('node', 'maintain', 'gpu-none', ...window);
    expect([code, stderr]).toEqual([4, expect.stringContaining('because: there is no node gpu-none')]);
  });
});
