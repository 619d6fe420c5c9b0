import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { attachTestCluster } from '../../testbed/attach.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover } from '../support/live-kcover.ts';
import { MadeUpSysfs } from '../support/made-up-sysfs.ts';
import { testServers } from '../support/rig.ts';

const agentSettings = { links: { devices: ['mlx5_*'], every: '200ms', down: '3s' } };

let live: LiveKcover;

const linksOf = (node: SimulatedNode) => new MadeUpSysfs(node.hostRoot);

beforeAll(async () => {
  const { workflowBundle } = testServers();
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  for (const node of cluster.nodes) {
    const links = await linksOf(node).create();
    await links.add();
    await links.add({ device: 'mlx5_1', pci: '0000:9b:00.0', layer: 'Ethernet' });
  }
  live = await LiveKcover.start(cluster, { workflowBundle, agentSettings });
});
afterEach(async () => {
  for (const node of live?.cluster.nodes ?? []) await linksOf(node).up('mlx5_1');
  await live?.clear();
}, 120_000);
afterAll(async () => {
  await live?.close();
  await Promise.all((live?.cluster.nodes ?? []).map(({ hostRoot }) => rm(join(hostRoot, 'sys'), { recursive: true })));
}, 120_000);

function lastNodeOf(job: LiveJob): SimulatedNode {
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} has no pod on a node`);
  return node;
}

describe('an RDMA link of a node under a running job', () => {
  it('that goes down gets the node quarantined and the whole job restarted elsewhere', async () => {
    const job = await live.pytorch({ workers: 2 });
    const node = lastNodeOf(job);
    await linksOf(node).down('mlx5_1');
    await live.quarantined(node);
    const records = await live.settled(job);
    expect(violations(await live.facts(job))).toEqual([]);
    expect(records).toMatchObject([{ outcome: 'restarted', stops: [{}] }]);
    expect(records[0]?.faults).toMatchObject([
      {
        source: 'link',
        code: 'link/down',
        node: node.name,
        device: '0000:9b:00',
        message: expect.stringMatching(/^Ethernet link mlx5_1 port 1 is DOWN \(Polling\) since /),
      },
    ]);
    expect(records[0]?.decisions.find(({ kind }) => kind === 'stop')?.blame).toBe('hardware');
    const now = live.recorder.podsOf(job).filter(({ gone }) => gone === undefined);
    expect([now.length, now.filter((pod) => pod.node === node.name)]).toEqual([3, []]);
  });

  it('that flaps only gets a warning', async () => {
    const job = await live.pytorch();
    const node = lastNodeOf(job);
    for (let time = 0; time < 3; time += 1) {
      await linksOf(node).down('mlx5_1');
      await sleep(800);
      await linksOf(node).up('mlx5_1');
      await sleep(800);
    }
    const event = await live.event({ name: node.name, uid: node.uid }, 'FaultObserved', /link\/flapping/);
    expect(event.type).toBe('Warning');
    await sleep(3500);
    expect(live.records(job)).toEqual([]);
    expect(live.recorder.isQuarantined(node.name)).toBe(false);
  });
});
