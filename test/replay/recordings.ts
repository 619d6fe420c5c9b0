/** Scenarios to record: a short workflow for each behaviour whose history must remain replayable. */

import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { ClusterStatus } from '../../contract/cluster.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import { nodeWorkflowId, remedyId } from '../../contract/ids.ts';
import { statusQuery } from '../../contract/wire/messages.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import { kernelFault, nodeView, podFaultNow, reserveLimit, settings, stormRule } from '../support/builders.ts';
import type { FakeCluster } from '../support/fake-cluster.ts';
import { eventually } from '../support/rig.ts';
import { gone, outcome, recoveryIs, statusOf, signalFaults, watch, request } from './acts.ts';
import { maintenanceRecording } from './maintenance-recording.ts';
import { notifyRecording } from './notify-recording.ts';
import { preflightRecordings } from './preflight-recordings.ts';
import { trustRecordings } from './trust-recordings.ts';
import type { ReplayFixture, Recording } from './recording.ts';

const command = { kind: 'command', command: ['/bin/true'] };
const remediation = {
  mode: 'run',
  hooks: { reset: command, reboot: command, diag: command },
  ladders: [
    {
      name: 'gpu',
      codes: ['xid/*'],
      rungs: [
        { hook: 'reset', proof: ['result'], verify: 'diag' },
        { hook: 'reboot', proof: ['rebooted', 'ready'], verify: 'diag' },
      ],
      release: 'verified',
    },
  ],
  probation: '50ms',
};

export const recordings: readonly Recording[] = [
  notifyRecording,
  maintenanceRecording,
  async (fixture) => {
    const open = quarantine(fixture.cluster);
    const job = await watch(fixture);
    await signalFaults(job, fixture.cluster.quarantined(kernelFault()));
    await eventually(
      () => fixture.cluster.stopped.length,
      (stops) => stops === 1,
    );
    const incident = (await statusOf(job)).incident ?? '';
    await recoveryIs(fixture, job, 'restarting');
    await fixture.rig.client.workflow.getHandle(incident).cancel();
    await outcome(job, 'cancelled');
    open();
    await gone(fixture, job);
    return { 'recovery/cancelled-after-a-stop': incident };
  },
  async (fixture) => {
    const open = quarantine(fixture.cluster);
    const job = await watch(fixture);
    await signalFaults(job, fixture.cluster.quarantined(kernelFault()));
    await eventually(() => fixture.cluster.pods.some((pod) => pod.node === 'gpu-4'), Boolean);
    await signalFaults(job, fixture.cluster.quarantined(kernelFault({ id: 'kernel/boot-2/7', node: 'gpu-4' })));
    await eventually(
      () => fixture.cluster.stopped.length,
      (stops) => stops === 2,
    );
    open();
    const incident = await outcome(job, 'restarted');
    return {
      'recovery/restarted-after-two-stops': incident,
      'trainingJob/two-faults-one-incident': await gone(fixture, job),
    };
  },
  async (fixture) => {
    fixture.cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms', budget: { recoveries: 1 } } });
    const job = await watch(fixture);
    for (const id of ['a', 'b']) {
      await signalFaults(
        job,
        podFaultNow({ id: `pod/${id}`, pod: { name: 'llm-0', uid: id, createdAt: '2099-01-01T00:00:00Z' } }),
      );
      await eventually(
        () => statusOf(job),
        (seen) => seen.phase === (id === 'a' ? 'watching' : 'refused') && seen.last !== undefined,
      );
    }
    await job.executeUpdate('recoverNow', { args: [request] });
    await eventually(
      () => statusOf(job),
      (seen) => seen.phase === 'watching' && fixture.cluster.stopped.length === 2,
    );
    return { 'trainingJob/budget-refused-then-asked': await gone(fixture, job) };
  },
  async (fixture) => {
    fixture.cluster.mayReserve = '2 nodes are out and 2 may be';
    const node = await fault(fixture, {});
    await nodeIs(node, 'held');
    fixture.cluster.mayReserve = true;
    await node.signal('recheck');
    await nodeIs(node, 'quarantined');
    return { 'nodeQuarantine/held-then-quarantined': await release(node) };
  },
  async (fixture) => {
    const { remedies } = fixture.cluster;
    fixture.cluster.settings = settings({ mode: 'act', remediation });
    remedies.permit = { kind: 'refused', because: 'paused by ada: a test', askAgainMs: 60_000 };
    remedies.hook = ({ hook }) => ({ verdict: hook === 'reset' ? 'failed' : 'passed', because: `${hook} ended` });
    const node = await fault(fixture, {});
    const { incident = '', node: name } = await eventually(
      () => node.query<NodeStatus>('status'),
      (seen) => seen.remedy?.phase === 'waiting',
    );
    const remedy = fixture.rig.client.workflow.getHandle(remedyId(name, incident));
    remedies.permit = { kind: 'granted' };
    await remedy.signal('recheck');
    await node.result();
    return { 'remedy/held-failed-cured': remedy.workflowId, 'nodeQuarantine/repaired-and-released': node.workflowId };
  },
  async (fixture) => {
    fixture.cluster.settings = settings({ mode: 'act', remediation });
    fixture.cluster.remedies.hook = ({ hook }) =>
      hook === 'reset' ? { verdict: 'passed', because: 'reset' } : new Promise<never>(() => undefined);
    const node = await fault(fixture, {});
    const { incident = '', node: name } = await eventually(
      () => node.query<NodeStatus>('status'),
      (seen) => seen.phase === 'verifying',
    );
    await eventually(
      () => fixture.cluster.remedies.hooks.length,
      (count) => count === 2,
    );
    await release(node);
    const remedy = fixture.rig.client.workflow.getHandle(remedyId(name, incident));
    await remedy.result();
    return { 'remedy/cancelled-while-a-hook-runs': remedy.workflowId };
  },
  async ({ rig }) => {
    const cluster = await rig.client.workflow.start('cluster', {
      workflowId: `cluster-${randomUUID()}`,
      taskQueue: rig.taskQueue,
      args: [{ clusterUid: 'kube-system-uid' }],
    });
    await eventually(
      () => cluster.query<ClusterStatus>(statusQuery),
      ({ phase }) => phase !== 'counting',
    );
    const limit = reserveLimit(1);
    const reserve = (node: string) =>
      cluster.executeUpdate('reserve', {
        args: [{ limit, storm: stormRule, wanted: [{ node, nodeUid: node, incident: nodeWorkflowId(node) }] }],
      });
    await reserve('a');
    await reserve('b');
    await cluster.signal('waiting', { workflowId: nodeWorkflowId('b') });
    await cluster.signal('returned', { nodeUids: ['a'] });
    await cluster.executeUpdate('pause', { args: [request] });
    await reserve('b');
    await cluster.executeUpdate('resume', { args: [request] });
    await reserve('b');
    return { 'cluster/reserved-returned-and-paused': cluster.workflowId };
  },
  ...preflightRecordings,
  ...trustRecordings,
];

/** Keeps the next attempt from becoming ready until the returned function is called. */
function quarantine(cluster: FakeCluster): () => void {
  let open = () => {};
  cluster.gate = new Promise((resolve) => (open = resolve));
  return () => open();
}

function addNode(cluster: FakeCluster): string {
  const name = `gpu-${randomUUID()}`;
  cluster.nodes.set(name, nodeView({ name, uid: `uid-${name}`, systemUuid: `machine-${name}` }));
  return name;
}

function fault({ rig, cluster }: ReplayFixture, more: Partial<Fault>): Promise<WorkflowHandle> {
  const node = addNode(cluster);
  return rig.client.workflow.signalWithStart('nodeQuarantine', {
    workflowId: nodeWorkflowId(node),
    taskQueue: rig.taskQueue,
    args: [{ node }],
    signal: 'faultsObserved',
    signalArgs: [{ faults: [kernelFault({ node, ...more })] }],
  });
}

async function nodeIs(node: WorkflowHandle, phase: string): Promise<void> {
  await eventually(
    () => node.query<NodeStatus>('status'),
    (seen) => seen.phase === phase,
  );
}

async function release(node: WorkflowHandle): Promise<string> {
  await node.executeUpdate('release', { args: [request] });
  await node.result();
  return node.workflowId;
}
