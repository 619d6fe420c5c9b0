/** Nodes that are lost while the containers of a job continue to run there, with the default settings for lost nodes. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isReady } from '../../testbed/nodes.ts';
import type { RealNode } from '../../testbed/real-nodes/real-node.ts';
import { until } from '../../testbed/until.ts';
import { violations } from '../support/invariants.ts';
import type { LiveJob } from '../support/live-kcover.ts';
import { dyingRanks } from './dying-ranks.ts';
import type { FaultyCluster } from './faulty-cluster.ts';
import { movedRanks } from './moved-ranks.ts';
import { RankStory } from './rank-story.ts';

const patience = 300_000;

/** Whether the trainer of this job still runs as a process of the node. */
const trainsOn = async (node: RealNode, { name }: LiveJob): Promise<boolean> =>
  (await node.run('ps', 'ax', '-o', 'args')).includes(name);

export function nodeFaults(clusterOf: () => FaultyCluster): void {
  /** Expects that the job runs on other nodes, that only pods of that node were deleted by force, and that the record does not claim that their processes are dead. */
  async function leftNode(job: LiveJob, node: RealNode, pod: number): Promise<void> {
    const { live } = clusterOf();
    const [record] = await live.settled(job, { withinMs: patience });
    expect(record).toMatchObject({ outcome: 'recovered', because: expect.stringMatching(/not proven dead/) });
    expect(record?.faults.map(({ code, node: blamed }) => [code, blamed])).toEqual([['node/not-ready', node.name]]);
    expect(record?.decisions.find(({ kind }) => kind === 'stop')?.blame).toBe('platform');
    expect(record?.stops.map(({ forced }) => forced?.map(({ uid }) => uid))).toEqual([[job.first[pod]?.metadata?.uid]]);
    expect(record?.runningPods.map((one) => one.node)).not.toContain(node.name);
    // The trainer of the old attempt still runs on the lost node, so its progress is no proof.
    expect(record?.runningPods.map(({ uid }) => uid)).toContain(record?.progress?.after?.pod);
    expect(live.recorder.isQuarantined(node.name)).toBe(false);
    expect(violations(await live.facts(job))).toEqual([]);
  }

  async function isBack(node: RealNode, job: LiveJob): Promise<void> {
    const { cluster, live } = clusterOf();
    await until(`${node.name} Ready`, 120_000, async () =>
      isReady(await cluster.api.core.readNode({ name: node.name })) ? { found: true } : { missing: 'it is not' },
    );
    await until(`the old trainer on ${node.name} ended`, 60_000, async () =>
      (await trainsOn(node, job)) ? { missing: 'it is there' } : { found: true },
    );
    expect(await live.settled(job)).toHaveLength(1);
  }

  describe('two nodes that are lost at once', () => {
    let jobs: readonly [LiveJob, LiveJob];
    let withoutKubelet: RealNode;
    let withoutRuntime: RealNode;

    beforeAll(async () => {
      const { nodes, train } = clusterOf();
      const [sound, second, third] = nodes as [RealNode, RealNode, RealNode];
      jobs = [
        await train({ prefers: { Master: second.name, Worker: sound.name } }),
        await train({ prefers: { Master: sound.name, Worker: third.name } }),
      ];
      expect(jobs.map((job) => job.nodes.map(({ name }) => name))).toEqual([
        [second.name, sound.name],
        [sound.name, third.name],
      ]);
      [withoutKubelet, withoutRuntime] = [second, third];
      await Promise.all([withoutKubelet.kubelet.kill('SIGKILL'), withoutRuntime.containerd.kill('SIGKILL')]);
    }, patience);
    afterAll(() => clusterOf().live.clear(), 120_000);

    describe('with faults of ranks on the remaining node at the same time:', () =>
      dyingRanks(() => new RankStory(clusterOf(), clusterOf().nodes.slice(0, 1))));

    it('have the job of the one without a kubelet restarted elsewhere, though its old master still trains', async () => {
      await leftNode(jobs[0], withoutKubelet, 0);
      expect(await trainsOn(withoutKubelet, jobs[0])).toBe(true);
    });

    it('have the job of the one without a container runtime restarted elsewhere, though its old worker still trains', async () => {
      await leftNode(jobs[1], withoutRuntime, 1);
      expect(await trainsOn(withoutRuntime, jobs[1])).toBe(true);
    });

    it('end the old trainers when they come back, and the jobs stay where they are', async () => {
      const { live } = clusterOf();
      await Promise.all([withoutKubelet.kubelet.start(), withoutRuntime.containerd.start()]);
      const agent = live.kcover.agents.get(withoutRuntime.name);
      await agent?.kill('SIGKILL');
      await agent?.start();
      await isBack(withoutKubelet, jobs[0]);
      await isBack(withoutRuntime, jobs[1]);
    });
  });

  describe('a node whose network is cut', () => {
    let job: LiveJob;
    let node: RealNode;

    beforeAll(async () => {
      const { nodes, train, live } = clusterOf();
      job = await train({ prefers: { Master: nodes[0]?.name ?? '', Worker: nodes[2]?.name ?? '' } });
      node = clusterOf().nodeOf(job, 1);
      // The agents are processes of this computer, so the cut network does not affect them.
      await live.kcover.agents.get(node.name)?.kill('SIGKILL');
      await node.cutNetwork();
    }, patience);
    afterAll(() => clusterOf().live.clear(), 120_000);

    describe('with faults of ranks on the remaining nodes at the same time:', () =>
      movedRanks(() => new RankStory(clusterOf(), clusterOf().nodes.slice(0, 2))));

    it('has its job restarted elsewhere, though its old worker still trains', async () => {
      await leftNode(job, node, 1);
      expect(await trainsOn(node, job)).toBe(true);
    });

    it('ends the old trainer when it is connected again, and the job stays where it is', async () => {
      await node.restoreNetwork();
      await clusterOf().live.kcover.agents.get(node.name)?.start();
      await isBack(node, job);
    });
  });
}
