import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { annotations, clusterWorkflowId } from '../../../contract/ids.ts';
import { FleetCounter } from '../../../kube/nodes/fleet.ts';
import { type LiveCluster, liveCluster } from '../../activities/live-cluster.ts';

const run = randomUUID().slice(0, 8);
const rack = 'example.com/rack';
const names: string[] = [];
let cluster: LiveCluster;
beforeAll(async () => {
  cluster = await liveCluster({
    workflows: true,
    more: { quarantine: { limit: { atLeast: 1000, domains: { [rack]: { percent: 50, atLeast: 0 } } } } },
  });
  await endCluster();
});
afterAll(async () => {
  await endCluster();
  await Promise.all(names.map((name) => cluster.api.core.deleteNode({ name })));
  await cluster.close();
});

const endCluster = () =>
  cluster.client.workflow
    .getHandle(clusterWorkflowId)
    .terminate('tidy up')
    .catch(() => undefined);

const reserve = (name: string) =>
  cluster.run('reserveQuarantine', { node: name, nodeUid: `uid-${name}`, incident: `node/${name}/x` });

interface Given {
  readonly rack?: string;
  readonly gpus?: string;
  readonly ready?: boolean;
  readonly cordoned?: boolean;
  readonly incident?: string;
}

async function node(given: Given): Promise<string> {
  const name = `fleet-${run}-${names.length}`;
  names.push(name);
  await cluster.api.core.createNode({
    body: {
      metadata: {
        name,
        labels: given.rack === undefined ? {} : { [rack]: `${run}-${given.rack}` },
        annotations: given.incident === undefined ? {} : { [annotations.quarantineIncident]: given.incident },
      },
      spec: { unschedulable: given.cordoned ?? false },
    },
  });
  const now = new Date();
  const condition = { type: 'Ready', status: given.ready === false ? 'False' : 'True' };
  await cluster.api.core.patchNodeStatus({
    name,
    body: [
      {
        op: 'add',
        path: '/status',
        value: {
          capacity: { 'nvidia.com/gpu': given.gpus ?? '8' },
          conditions: [{ ...condition, lastTransitionTime: now, lastHeartbeatTime: now }],
        },
      },
    ],
  });
  return name;
}

describe('nodes counted for a limit', () => {
  it('are those with accelerators, by domain, with those that others keep out', async () => {
    const [first] = [
      await node({ rack: 'a' }),
      await node({ rack: 'a', cordoned: true }),
      await node({ rack: 'a', ready: false }),
      // Not another's: kcover has quarantined it.
      await node({ rack: 'a', cordoned: true, incident: 'node/x/y' }),
      await node({ rack: 'a', gpus: '0' }),
      await node({ rack: 'b' }),
      await node({}),
    ];
    const fleet = new FleetCounter(cluster.kube, [rack], Date.now);
    expect(await fleet.count(`${rack}=${run}-a`)).toEqual({ nodes: 4, others: 2 });
    expect(await fleet.count(`${rack}=${run}-b`)).toEqual({ nodes: 1, others: 0 });
    expect(await fleet.count(`${rack}=${run}-c`)).toEqual({ nodes: 0, others: 0 });
    expect(await fleet.domainsOf(first)).toEqual([`${rack}=${run}-a`]);
    // Younger than the count.
    expect(await fleet.domainsOf(await node({ rack: 'b' }))).toEqual([`${rack}=${run}-b`]);
    expect(await fleet.domainsOf('none')).toEqual([]);
  });

  it('bound the quarantines of a domain by its share, less what others keep out there', async () => {
    const first = await node({ rack: 'd' });
    const second = await node({ rack: 'd' });
    const third = await node({ rack: 'd' });
    await node({ rack: 'd' });
    await node({ rack: 'e', cordoned: true });
    const last = await node({ rack: 'e' });
    expect(await reserve(first)).toMatchObject({ granted: true });
    expect(await reserve(second)).toMatchObject({ granted: true });
    expect(await reserve(third)).toMatchObject({
      granted: false,
      because: `2 nodes of ${rack}=${run}-d are out and 2 may be (50% of 4 nodes with accelerators, at least 0)`,
    });
    expect(await reserve(last)).toMatchObject({
      granted: false,
      because: `0 nodes of ${rack}=${run}-e are out and 0 may be (50% of 2 nodes with accelerators, less 1 that others keep out, at least 0)`,
    });
  });
});
