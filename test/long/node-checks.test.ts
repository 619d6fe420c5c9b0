import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { attachTestCluster } from '../../testbed/attach.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { violations } from '../support/invariants.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

const data = '/var/lib/data';
const agentSettings = { disks: { mounts: [data], every: '200ms' } };

let live: LiveKcover;

/** Replaced as a whole, so that no agent reads half of it. */
async function mounted(node: SimulatedNode, options: string): Promise<void> {
  const file = join(node.hostRoot, 'proc/1/mounts');
  await writeFile(`${file}.new`, `/dev/sda1 / ext4 rw 0 0\n/dev/nvme0n1p1 ${data} xfs ${options},relatime 0 0\n`);
  await rename(`${file}.new`, file);
}

beforeAll(async () => {
  const { workflowBundle } = testServers();
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  for (const node of cluster.nodes) {
    await mkdir(join(node.hostRoot, 'proc/1'), { recursive: true });
    await mounted(node, 'rw');
  }
  live = await LiveKcover.start(cluster, { workflowBundle, agentSettings });
});
afterAll(async () => {
  for (const node of live?.cluster.nodes ?? []) await mounted(node, 'rw');
  await live?.clear();
  await live?.close();
  for (const { hostRoot } of live?.cluster.nodes ?? []) await rm(join(hostRoot, 'proc/1'), { recursive: true });
}, 120_000);

describe('a file system of a node that becomes read-only under a running job', () => {
  it('gets the node quarantined and the whole job restarted elsewhere', async () => {
    const job = await live.pytorch({ workers: 2 });
    const node = job.nodes.at(-1);
    if (!node) throw new Error(`${job.name} has no pod on a node`);
    await mounted(node, 'ro');
    await live.quarantined(node);
    const records = await live.settled(job);
    expect(violations(await live.facts(job))).toEqual([]);
    expect(records).toMatchObject([{ outcome: 'restarted', stops: [{}] }]);
    expect(records[0]?.faults).toMatchObject([
      {
        source: 'disk',
        code: 'disk/read-only',
        node: node.name,
        device: 'nvme0n1p1',
        message: `${data} is mounted read-only (/dev/nvme0n1p1)`,
      },
    ]);
    const now = live.recorder.podsOf(job).filter(({ gone }) => gone === undefined);
    expect([now.length, now.filter((pod) => pod.node === node.name)]).toEqual([3, []]);
  });
});
