/** Other systems that act on the same nodes and jobs: an autoscaler that removes a node, a system with a taint and a cordon of its own, a controller above the batch Job. */

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { nodeWorkflowId } from '../../contract/ids.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu } from '../../testbed/failures.ts';
import { until } from '../../testbed/until.ts';
import { LiveKcover, optIn, quick, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';
import { type PlayedSet, playSet } from '../support/set-controller.ts';

let live: LiveKcover;
const sets: PlayedSet[] = [];
const namespaces: string[] = [];
const nodes: string[] = [];

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    // Its controllers are simulated here: a failed rank does not fail the others.
    workerSettings: { ...quick, recovery: { ...quick.recovery, unsafeSuspend: { TrainJob: 'stop' } } },
  });
});
afterEach(async () => {
  const { core } = live.cluster.api;
  await Promise.all(sets.splice(0).map((set) => set.close()));
  await Promise.all(namespaces.splice(0).map((name) => core.deleteNamespace({ name })));
  await Promise.all(nodes.splice(0).map((name) => core.deleteNode({ name }).catch(() => undefined)));
  await live?.clear();
});
afterAll(() => live?.close(), 120_000);

/** Without pods and accelerators: only the fields of the object count. */
async function extraNode(spec: object = {}): Promise<string> {
  const name = `neighbour-${randomUUID().slice(0, 8)}`;
  await live.cluster.api.core.createNode({
    body: { metadata: { name, labels: { 'testbed.kcover.io/kubelet': 'dead' } }, spec },
  });
  nodes.push(name);
  return name;
}

const nodeNow = (name: string) => live.cluster.api.core.readNode({ name });
const keysOf = async (name: string): Promise<string[]> =>
  ((await nodeNow(name)).spec?.taints ?? []).map(({ key }) => key);

async function quarantine(name: string): Promise<void> {
  expect(await live.runCli('node', 'quarantine', name, '--reason', 'to look at it')).toMatchObject({ code: 0 });
  await until(`${name} quarantined`, 60_000, async () => {
    const keys = await keysOf(name);
    return keys.includes('kcover.io/quarantine') ? { found: true } : { missing: keys.join(', ') };
  });
}

describe('a quarantined node', () => {
  it('ends its quarantine when an autoscaler removes it', async () => {
    const name = await extraNode();
    await quarantine(name);
    await live.cluster.api.core.deleteNode({ name });
    expect(await live.temporal.workflow.getHandle(nodeWorkflowId(name)).result()).toMatchObject({ outcome: 'gone' });
  });

  it('keeps the taint and the cordon of another system when it is released', async () => {
    const theirs = { key: 'example.com/maintenance', value: 'x', effect: 'NoSchedule' };
    const name = await extraNode({ taints: [theirs], unschedulable: true });
    await quarantine(name);
    expect(await keysOf(name)).toContain(theirs.key);
    expect(await live.runCli('node', 'release', name, '--reason', 'looked at')).toMatchObject({ code: 0 });
    await live.temporal.workflow.getHandle(nodeWorkflowId(name)).result();
    expect(await keysOf(name)).toContain(theirs.key);
    expect(await keysOf(name)).not.toContain('kcover.io/quarantine');
    expect((await nodeNow(name)).spec?.unschedulable).toBe(true);
  });
});

describe.each(['JobSet', 'TrainJob'] as const)('a %s whose node breaks', (kind) => {
  it('is suspended and resumed as a whole, and not by its batch Jobs', async () => {
    const namespace = `train-${randomUUID().slice(0, 8)}`;
    await live.cluster.api.core.createNamespace({ body: { metadata: { name: namespace } } });
    namespaces.push(namespace);
    const set = await playSet(live.cluster.api, {
      kind,
      name: 'llm',
      namespace,
      roles: { leader: 1, workers: 2 },
      labels: optIn,
      podLabels: optIn,
    });
    sets.push(set);
    const first = await set.running();
    const broken = live.cluster.nodes.find(({ name }) => name === first.at(-1)?.spec?.nodeName);
    if (!broken) throw new Error('its last pod is on no node');
    await breakGpu(broken, xid79);

    const record = await recordOf(set.ref);
    expect(record).toMatchObject({ job: set.ref, outcome: 'restarted', stops: [{ by: 'suspend' }] });
    const uids = first.map(({ metadata }) => metadata?.uid ?? '');
    expect(record.stops[0]?.pods.map(({ uid }) => uid).toSorted()).toEqual(uids.toSorted());
    const next = await set.running(new Set(uids));
    expect(next.map(({ spec }) => spec?.nodeName)).not.toContain(broken.name);
    for (const made of [set.set, ...set.jobs].filter(({ uid }) => uid !== set.ref.uid))
      expect(live.records(made)).toEqual([]);
  });
});

const recordOf = (ref: JobRef): Promise<IncidentRecord> =>
  until(`a record of ${ref.kind} ${ref.name}`, 180_000, async () => {
    const [found] = live.records(ref);
    return found ? { found } : { missing: 'no record' };
  });
