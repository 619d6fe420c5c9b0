import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFile, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RealNode } from '../../testbed/real-nodes/real-node.ts';
import type { LiveJob } from '../support/live-kcover.ts';
import type { FaultyCluster } from './faulty-cluster.ts';
import { RankStory } from './rank-story.ts';

const gib = 2 ** 30;

/** Tests with a kubelet whose eviction threshold is near the free disk space, so that it evicts although the disk of this computer is never full. */
export function shortOfDisk(clusterOf: () => FaultyCluster): void {
  let story: RankStory;
  let job: LiveJob;
  let node: RealNode;
  let before: string;

  const configuration = (): string => join(clusterOf().cluster.directory, 'real-nodes', node.name, 'kubelet.json');
  async function restartWith(text: string): Promise<void> {
    await writeFile(configuration(), text);
    await node.kubelet.kill('SIGKILL');
    await node.kubelet.start();
  }
  const wantFree = (available: string): Promise<void> =>
    restartWith(
      JSON.stringify({
        ...JSON.parse(before),
        evictionHard: { 'nodefs.available': available },
        evictionPressureTransitionPeriod: '1s',
      }),
    );

  describe('a rank on a node under disk pressure', () => {
    beforeEach(async () => {
      const { nodes, nodeOf } = clusterOf();
      story = new RankStory(clusterOf(), nodes);
      job = await story.train({ prefers: { Master: nodes[0]?.name ?? '', Worker: nodes[2]?.name ?? '' } });
      node = nodeOf(job, 1);
      before = await readFile(configuration(), 'utf8');
    });
    afterEach(async () => {
      await restartWith(before);
      // Under disk pressure a kubelet removes unused images.
      await node.importImage(clusterOf().imageArchive);
      await story.end();
    }, 120_000);

    it('is evicted, has its whole job restarted, and blames the platform', async () => {
      const { bavail, bsize } = await statfs(clusterOf().cluster.directory);
      // Other tests change the free space of the same disk by less than this.
      await wantFree(String(bavail * bsize - 4 * gib));
      // A kubelet that is under pressure when it starts would reject its own pods.
      await sleep(5000);
      await clusterOf().order(job, 1, 'fallocate -l 10G /var/tmp/large');
      const record = await story.restartedOnce(job, 'pod/evicted', 'platform');
      expect(record?.because).toMatch(/The node was low on resource: ephemeral-storage/);
    });

    it('is rejected when the kubelet starts again, which is not a failure of the job', async () => {
      await wantFree('99%');
      const record = await story.restartedOnce(job, 'pod/evicted', 'platform');
      expect(record?.because).toMatch(/was evicted: Pod was rejected: The node had condition: \[DiskPressure\]/);
      expect(record?.runningPods.map((pod) => pod.node)).not.toContain(node.name);
    });
  });
}
