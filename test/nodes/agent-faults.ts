/** Agents and API server fail at the same time as a GPU. */

import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { statusQuery } from '../../contract/wire/messages.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { RealNode } from '../../testbed/real-nodes/real-node.ts';
import type { Server } from '../../testbed/servers/server.ts';
import { until } from '../../testbed/until.ts';
import { suspendsOf, violations } from '../support/invariants.ts';
import { type LiveJob, xid79 } from '../support/live-kcover.ts';
import type { FaultyCluster } from './faulty-cluster.ts';
import { xid64 } from './moved-ranks.ts';

/** A line for another GPU, so that it is not a repetition. */
const xid48 = (device: number): string =>
  `NVRM: Xid (PCI:0000:${device.toString(16).padStart(2, '0')}:00): 48, DBE (double bit error)`;

export function agentFaults(clusterOf: () => FaultyCluster): void {
  afterEach(() => clusterOf().live.clear(), 120_000);

  const agentOf = ({ name }: RealNode): Server => {
    const agent = clusterOf().live.kcover.agents.get(name);
    if (agent === undefined) throw new Error(`${name} has no agent`);
    return agent;
  };

  /** Codes of all faults of the node's workflow, once it has at least this many. */
  const faultsOf = ({ name }: RealNode, atLeast: number): Promise<string[]> =>
    until(`${atLeast} faults of ${name}`, 60_000, async () => {
      const { faults } = await clusterOf()
        .live.temporal.workflow.getHandle(nodeWorkflowId(name))
        .query<NodeStatus>(statusQuery);
      const codes = faults.map(({ code }) => code).toSorted();
      return codes.length >= atLeast ? { found: codes } : { missing: codes.join() };
    });

  /** Number of gaps of this kind that agents have reported. */
  async function gaps(what: string): Promise<number> {
    const { kcover } = clusterOf().live;
    const [, count] =
      new RegExp(`^kcover_intake_gaps_total\\{what="${what}"\\} (\\d+)$`, 'm').exec(
        await kcover.metricsOf(kcover.controller),
      ) ?? [];
    return Number(count ?? 0);
  }

  const isReportedMissing = (what: string, before: number): Promise<true> =>
    until(`the gap ${what}`, 60_000, async () =>
      (await gaps(what)) > before ? { found: true } : { missing: `${before} as before` },
    );

  const isOut = ({ name }: RealNode): Promise<void> => {
    const { recorder } = clusterOf().live;
    return recorder.seen(`quarantine of ${name}`, 60_000, () => recorder.isQuarantined(name));
  };

  async function stoppedOnce(job: LiveJob): Promise<void> {
    const facts = await clusterOf().live.facts(job);
    expect(suspendsOf(facts)).toHaveLength(1);
    expect(violations(facts)).toEqual([]);
  }

  describe('an agent', () => {
    it('that is killed between two kernel lines loses neither of them and reports neither twice', async () => {
      const { train, nodes, nodeOf, live } = clusterOf();
      const job = await train({ prefers: { Master: nodes[0]?.name ?? '', Worker: nodes[1]?.name ?? '' } });
      const node = nodeOf(job, 1);
      node.kernelLog(xid64);
      await agentOf(node).kill('SIGKILL');
      node.kernelLog(xid48(7));
      await agentOf(node).start();
      expect(await faultsOf(node, 2)).toEqual(['xid/48', 'xid/64']);
      const records = await live.settled(job);
      expect(records.map(({ outcome }) => outcome)).toEqual(['recovered']);
      await stoppedOnce(job);
      expect(await faultsOf(node, 2)).toHaveLength(2);
    });

    it('that was stopped while the kernel log overran reports the gap, and the faults in the remaining lines', async () => {
      const [node] = clusterOf().nodes as [RealNode];
      const before = await gaps('kernel-log-overrun');
      await agentOf(node).kill('SIGKILL');
      const filler = 'x'.repeat(900);
      for (let line = 0; line < 4000; line++) node.kernelLog(`kcover fills the kernel log: ${line} ${filler}`);
      node.kernelLog(xid79);
      await agentOf(node).start();
      await isOut(node);
      await isReportedMissing('kernel-log-overrun', before);
      expect(await faultsOf(node, 1)).toEqual(['xid/79']);
    });

    it('whose disk is full continues to report, reports the gap, and repeats no fault when the disk has space again', async () => {
      const [, node] = clusterOf().nodes as [RealNode, RealNode];
      const before = await gaps('spool-unwritable');
      await node.fillState();
      try {
        for (let device = 1; device <= 12; device++) node.kernelLog(xid48(device));
        await isOut(node);
        expect(await faultsOf(node, 12)).toHaveLength(12);
        await isReportedMissing('spool-unwritable', before);
      } finally {
        await node.freeState();
      }
      await agentOf(node).kill('SIGKILL');
      await agentOf(node).start();
      node.kernelLog(xid79);
      expect(await faultsOf(node, 13)).toHaveLength(13);
    });
  });

  describe('an API server that is stopped for a minute', () => {
    it('delays the response to a fault of that time, which then has one stop', async () => {
      const { train, nodes, nodeOf, live, cluster } = clusterOf();
      const job = await train({ prefers: { Master: nodes[0]?.name ?? '', Worker: nodes[1]?.name ?? '' } });
      const node = nodeOf(job, 1);
      await cluster.servers.apiserver.kill('SIGKILL');
      node.kernelLog(xid79);
      await sleep(60_000);
      await cluster.servers.apiserver.start();
      // An operator with leader election ends without an API server and is restarted. This one has none, and would wait for another minute.
      await cluster.servers.trainingOperator.kill('SIGKILL');
      await cluster.servers.trainingOperator.start();
      const records = await live.settled(job, { withinMs: 180_000 });
      expect(records).toMatchObject([
        { outcome: 'recovered', faults: [{ code: 'xid/79', node: node.name }], stops: [{ attempt: 1 }] },
      ]);
      expect(records[0]?.runningPods.map((pod) => pod.node)).not.toContain(node.name);
      expect(nodes.filter(({ name }) => live.recorder.isQuarantined(name))).toEqual([node]);
      await stoppedOnce(job);
    });
  });
}
