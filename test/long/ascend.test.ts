import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1RoleBinding } from '@kubernetes/client-node';
import { reportRoles } from '../../kube/rbac.ts';
import { type ChipFault, deviceInfo, writeReport } from '../../testbed/ascend.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, shortLease } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

const namespace = `ascend-${randomUUID().slice(0, 8)}`;
const at = Date.now();
const broken: ChipFault = { chip: 4, code: '80E01801', level: 'RestartNPU', at };

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  await cluster.api.core.createNamespace({ body: { metadata: { name: namespace } } });
  for (const object of reportRoles(namespace)) {
    if (object.kind === 'Role') await cluster.api.rbac.createNamespacedRole({ namespace, body: object });
    else await cluster.api.rbac.createNamespacedRoleBinding({ namespace, body: object as V1RoleBinding });
  }
  const controllerSettings = { ...shortLease, nodes: { ascend: { namespaces: [namespace], debounce: '500ms' } } };
  live = await LiveKcover.start(cluster, { workflowBundle, controllerSettings });
});
afterEach(() => live?.clear(), 120_000);
afterAll(async () => {
  await live?.cluster.api.core.deleteNamespace({ name: namespace });
  await live?.close();
}, 120_000);

function lastNodeOf(job: LiveJob): SimulatedNode {
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} has no pod on a node`);
  return node;
}

const shows = (node: SimulatedNode, ...faults: readonly ChipFault[]) =>
  writeReport(live.cluster.api, namespace, deviceInfo(node.name, faults));
const quarantinesOf = (node: SimulatedNode) =>
  live.recorder.quarantines().filter((span) => span.node === node.name).length;

/** A warning that comes after everything that the ConfigMap showed before has been sent. */
async function awaitSentAfter(node: SimulatedNode, ...faults: readonly ChipFault[]): Promise<void> {
  const code = randomUUID().slice(0, 8).toUpperCase();
  await shows(node, ...faults, { chip: 7, code, level: 'SubHealthFault', at });
  await live.event({ name: node.name, uid: node.uid }, 'FaultObserved', new RegExp(code));
}

describe('a chip fault in a ConfigMap of the device plugin', () => {
  it('quarantines the node and moves its job; after a release the same fault counts for no controller', async () => {
    const job = await live.pytorch({ workers: 2 });
    const node = lastNodeOf(job);
    await shows(node, broken);
    await live.quarantined(node);
    const records = await live.settled(job);
    expect(violations(await live.facts(job))).toEqual([]);
    expect(records).toMatchObject([{ outcome: 'restarted', stops: [{}] }]);
    expect(records[0]?.faults).toMatchObject([
      { source: 'device-plugin', code: 'ascend/80E01801', device: 'Ascend910-4', action: 'reset-gpu', node: node.name },
    ]);
    const before = quarantinesOf(node);

    await shows(node);
    await awaitSentAfter(node, broken);
    expect(live.recorder.isQuarantined(node.name)).toBe(true);

    await live.release(node);
    await live.kcover.controller.kill('SIGTERM');
    await live.kcover.controller.start();
    await awaitSentAfter(node, broken);
    expect([quarantinesOf(node), live.recorder.isQuarantined(node.name)]).toEqual([before, false]);

    await shows(node);
    await shows(node, { ...broken, at: at + 60_000 });
    await live.quarantined(node);
    expect(quarantinesOf(node)).toBe(before + 1);
  });

  it('of the network of a chip alone, or of a lower level, only warns', async () => {
    const job = await live.pytorch();
    const node = lastNodeOf(job);
    await awaitSentAfter(node, { chip: 5, code: '81078603', level: 'SeparateNPU', at, isNetwork: true });
    expect([live.records(job), live.recorder.isQuarantined(node.name)]).toEqual([[], false]);
  });
});
