import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu } from '../../testbed/failures.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, shortLease, xid79 } from '../support/live-kcover.ts';
import { type LokiServer, startLokiServer } from '../support/loki-server.ts';
import { testServers } from '../support/rig.ts';

let loki: LokiServer;
let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  loki = await startLokiServer();
  const queries = [{ name: 'kernel', query: '{job="kernel"}', trusted: true }];
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    controllerSettings: { ...shortLease, loki: { url: loki.url, interval: '200ms', delay: '0s', queries } },
  });
});
afterEach(() => live?.clear(), 120_000);
afterAll(async () => {
  await live?.close();
  await loki?.close();
}, 120_000);

function lastNodeOf(job: LiveJob) {
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} has no pod on a node`);
  return node;
}

const ship = (node: string) =>
  loki.push({ at: BigInt(Date.now()) * 1_000_000n, line: xid79, stream: { job: 'kernel', k8s_node_name: node } });

describe('a line of a driver that is shipped to Loki', () => {
  it('gets the node quarantined and the whole job restarted elsewhere, without a word of the agent', async () => {
    const job = await live.pytorch({ workers: 1 });
    const node = lastNodeOf(job);
    ship(node.name);
    await live.quarantined(node);
    const records = await live.settled(job);
    expect(violations(await live.facts(job))).toEqual([]);
    expect(records).toMatchObject([{ outcome: 'restarted', stops: [{}] }]);
    expect(records[0]?.faults).toMatchObject([{ source: 'kernel', code: 'xid/79', node: node.name }]);
  });

  it('is the same fault as that of the agent, which reads it as well', async () => {
    const job = await live.pytorch({ workers: 1 });
    const node = lastNodeOf(job);
    ship(node.name);
    await breakGpu(node, xid79);
    await live.quarantined(node);
    const records = await live.settled(job);
    expect(records).toMatchObject([{ outcome: 'restarted', stops: [{}] }]);
    expect(records.flatMap(({ faults }) => faults)).toMatchObject([{ code: 'xid/79', node: node.name }]);
  });
});
