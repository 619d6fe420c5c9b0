/** Nodes of one rack with one cause: the workflows of the nodes and that of the cluster, as one worker runs them. */

import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReserveAnswer, ReserveRequest } from '../../contract/cluster.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import { notificationOf } from '../../policy/notify/notification.ts';
import { kernelFault, nodeView, reserveLimit, stormRule } from '../support/builders.ts';
import { activitiesOf, FakeCluster } from '../support/fake-cluster.ts';
import { eventually, type Rig, startRig } from '../support/rig.ts';

const run = randomUUID().slice(0, 8);
const clusterId = `cluster-${run}`;
const names = Array.from({ length: 12 }, (_, number) => `gpu-${run}-${number}`);
const granted = 5;
const cluster = new FakeCluster();
let rig: Rig;

/** The limit, the rule and the domain are those of the test. */
async function reserveQuarantine(wanted: ReserveRequest['wanted'][number]): Promise<ReserveAnswer> {
  const request: ReserveRequest = {
    limit: reserveLimit(granted),
    storm: stormRule,
    wanted: [{ ...wanted, domains: ['rack=r7', 'zone=a'] }],
  };
  const [answer] = await rig.client.workflow
    .getHandle(clusterId)
    .executeUpdate<ReserveAnswer[], [ReserveRequest]>('reserve', { args: [request] });
  if (!answer) throw new Error('the cluster gave no answer');
  return answer;
}

const send = (node: string) =>
  rig.client.workflow.signalWithStart('nodeQuarantine', {
    workflowId: `node/${node}`,
    taskQueue: rig.taskQueue,
    args: [{ node }],
    signal: 'faultsObserved',
    signalArgs: [{ faults: [kernelFault({ node })] }],
  });
const phaseOf = async (node: string) =>
  (await rig.client.workflow.getHandle(`node/${node}`).query<NodeStatus>('status')).phase;
const eventsOf = (...reasons: readonly string[]) => cluster.announced.filter(({ reason }) => reasons.includes(reason));

/** Reasons of what is sent to a route. */
const notified = () => {
  const context = { at: Date.now(), digest: (text: string) => createHash('sha256').update(text).digest('hex') };
  const all = cluster.announced.flatMap((event) => notificationOf(event, context) ?? []);
  return [...new Map(all.map((one) => [one.id, one.reason])).values()];
};

describe('twelve nodes of one rack with one cause within seconds', () => {
  beforeAll(async () => {
    rig = await startRig({ ...activitiesOf(() => cluster), reserveQuarantine });
    const { taskQueue } = rig;
    await rig.client.workflow.start('cluster', { workflowId: clusterId, taskQueue, args: [{ clusterUid: 'uid' }] });
    for (const name of names) cluster.nodes.set(name, nodeView({ name, uid: `uid-${name}`, systemUuid: name }));
    await Promise.all(names.map(send));
  });
  afterAll(async () => {
    try {
      for (const id of [clusterId, ...names.map((name) => `node/${name}`)]) {
        rig.replayAtEnd(id);
        await rig.client.workflow.getHandle(id).terminate('the test is over');
      }
    } finally {
      await rig.close();
    }
  });

  it('each have an Event, and people are notified of the storm and at most two nodes', async () => {
    await eventually(
      () => Promise.all(names.map(phaseOf)),
      (phases) =>
        phases.filter((phase) => phase === 'quarantined').length === granted &&
        phases.filter((phase) => phase === 'held').length === names.length - granted,
    );
    await eventually(
      () => eventsOf('NodeQuarantined', 'NodeQuarantineHeld', 'NodeStorm'),
      (events) => new Set(events.map(({ about }) => 'name' in about && about.name)).size === names.length,
    );
    expect(eventsOf('NodeQuarantined')).toHaveLength(granted);
    expect(eventsOf('NodeStorm')).toHaveLength(1);
    expect(notified().filter((reason) => reason === 'NodeStorm')).toHaveLength(1);
    expect(notified().length).toBeLessThan(stormRule.nodes + 1);
    const [part] = cluster.announced.filter(({ storm }) => storm !== undefined);
    expect(part?.message).toMatch(/; one of several nodes with this cause \(storm\/xid-79\/rack=r7\/.*\)$/);
  });

  it('are notified of one by one where a person asks for one', async () => {
    const before = notified().length;
    const held = await eventually(
      async () =>
        (await Promise.all(names.map(async (name) => ({ name, phase: await phaseOf(name) })))).find(
          ({ phase }) => phase === 'held',
        ),
      (found) => found !== undefined,
    );
    await rig.client.workflow
      .getHandle(`node/${held?.name ?? ''}`)
      .signal('quarantine', { by: 'ada', reason: 'it is broken all the same' });
    await eventually(notified, (all) => all.length === before + 1 && all.at(-1) === 'NodeQuarantined');
  });
});
