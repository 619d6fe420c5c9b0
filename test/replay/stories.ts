/** What is recorded: one short life of a workflow for each behaviour whose history must keep replaying. */

import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { ClusterStatus } from '../../contract/cluster.ts';
import type { Fault } from '../../contract/faults.ts';
import { nodeWorkflowId } from '../../contract/ids.ts';
import { statusQuery } from '../../contract/messages.ts';
import type { NodeStatus } from '../../contract/nodes.ts';
import { kernelFault, nodeView, podFaultNow, reserveLimit, settings } from '../support/builders.ts';
import type { FakeCluster } from '../support/fake-cluster.ts';
import { eventually } from '../support/rig.ts';
import { gone, outcome, recoveryIs, statusOf, tell, train, watch, wish } from './acts.ts';
import { preflightStories } from './preflight-stories.ts';
import { trustStories } from './trust-stories.ts';
import type { Scene, Story } from './story.ts';

export const stories: readonly Story[] = [
  async (scene) => {
    const job = await watch(scene);
    await tell(job, scene.cluster.quarantined(kernelFault()));
    const incident = await outcome(job, 'restarted');
    return { 'recovery/restarted': incident, 'trainingJob/restarted-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    const job = await watch(scene);
    await tell(job, kernelFault({ hold: { state: 'held', because: '2 nodes are out and 2 may be' } }));
    await recoveryIs(scene, job, 'held');
    await tell(job, scene.cluster.quarantined(kernelFault()));
    const incident = await outcome(job, 'restarted');
    return { 'recovery/held-then-restarted': incident, 'trainingJob/fault-forwarded-to-the-open-incident': await gone(scene, job) };
  },
  async (scene) => {
    scene.cluster.settings = settings();
    const job = await watch(scene);
    await tell(job, kernelFault({ hold: { state: 'observed', because: 'xid/79' } }));
    const incident = await outcome(job, 'refused');
    return { 'recovery/refused-in-mode-observe': incident, 'trainingJob/observed-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    const open = hold(scene.cluster);
    const job = await watch(scene);
    await tell(job, scene.cluster.quarantined(kernelFault()));
    await eventually(
      () => scene.cluster.stopped.length,
      (stops) => stops === 1,
    );
    const incident = (await statusOf(job)).incident ?? '';
    await recoveryIs(scene, job, 'restarting');
    await scene.rig.client.workflow.getHandle(incident).cancel();
    await outcome(job, 'cancelled');
    open();
    return { 'recovery/cancelled-after-a-stop': incident, 'trainingJob/recovery-cancelled': await gone(scene, job) };
  },
  async (scene) => {
    const open = hold(scene.cluster);
    const job = await watch(scene);
    await tell(job, scene.cluster.quarantined(kernelFault()));
    await eventually(() => scene.cluster.pods.some((pod) => pod.node === 'gpu-4'), Boolean);
    await tell(job, scene.cluster.quarantined(kernelFault({ id: 'kernel/boot-2/7', node: 'gpu-4' })));
    await eventually(
      () => scene.cluster.stopped.length,
      (stops) => stops === 2,
    );
    open();
    const incident = await outcome(job, 'restarted');
    return { 'recovery/restarted-after-two-stops': incident, 'trainingJob/two-faults-one-incident': await gone(scene, job) };
  },
  async (scene) => {
    scene.cluster.blind = 'the Kubernetes API did not answer';
    const job = await watch(scene);
    await tell(job, scene.cluster.quarantined(kernelFault()));
    await recoveryIs(scene, job, 'held');
    scene.cluster.blind = undefined;
    return { 'recovery/blind-then-restarted': await outcome(job, 'restarted'), 'trainingJob/blind-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    scene.cluster.change('gpu-3', { ready: false });
    scene.cluster.dead.add('gpu-3');
    const job = await watch(scene);
    const lost = { source: 'node', code: 'node/not-ready', hold: { state: 'not-ready', because: 'its kubelet is silent' } } as const;
    await tell(job, kernelFault({ id: 'node/not-ready/3', ...lost }));
    return { 'recovery/forced-on-a-dead-node': await outcome(job, 'restarted'), 'trainingJob/dead-node-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    scene.cluster.settings = settings({ mode: 'act', recovery: { attempts: 1 } });
    const open = hold(scene.cluster);
    const job = await watch(scene);
    await tell(job, scene.cluster.quarantined(kernelFault()));
    await recoveryIs(scene, job, 'restarting');
    await tell(job, scene.cluster.quarantined(kernelFault({ id: 'kernel/boot-2/8', node: 'gpu-4' })));
    const incident = await outcome(job, 'handed over');
    open();
    return { 'recovery/handed-over': incident, 'trainingJob/handed-over-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    const job = await watch(scene);
    await tell(job, kernelFault({ hold: { state: 'held', because: '2 nodes are out and 2 may be' } }));
    await recoveryIs(scene, job, 'held');
    if (scene.cluster.view) scene.cluster.view = { ...scene.cluster.view, finished: { as: 'failed', because: 'BackoffLimitExceeded' } };
    await job.signal('jobObserved', { change: 'finished' });
    await job.result();
    const [record] = scene.cluster.records;
    return { 'recovery/failed-by-its-own-controller': record?.incident ?? '', 'trainingJob/failed': job.workflowId };
  },
  async (scene) => {
    scene.cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms', budget: { recoveries: 1 } } });
    const job = await watch(scene);
    for (const id of ['a', 'b']) {
      await tell(job, podFaultNow({ id: `pod/${id}`, pod: { name: 'llm-0', uid: id, createdAt: '2099-01-01T00:00:00Z' } }));
      await eventually(
        () => statusOf(job),
        (seen) => seen.phase === (id === 'a' ? 'watching' : 'refused') && seen.last !== undefined,
      );
    }
    await job.executeUpdate('recoverNow', { args: [wish] });
    await eventually(
      () => statusOf(job),
      (seen) => seen.phase === 'watching' && scene.cluster.stopped.length === 2,
    );
    return { 'trainingJob/budget-refused-then-asked': await gone(scene, job) };
  },
  async (scene) => {
    if (scene.cluster.view) scene.cluster.view = { ...scene.cluster.view, canStopBy: [], restartPolicy: 'Never' };
    const job = await watch(scene);
    await eventually(
      () => scene.cluster.reasons(),
      (reasons) => reasons.includes('NotRecoverable'),
    );
    if (scene.cluster.view) scene.cluster.view = { ...scene.cluster.view, optedIn: false };
    await job.signal('jobObserved', { change: 'opted-out' });
    await job.result();
    return { 'trainingJob/not-recoverable-then-opted-out': job.workflowId };
  },
  async (scene) => {
    const node = await fault(scene, {});
    await nodeIs(node, 'quarantined');
    return { 'nodeQuarantine/released': await release(node) };
  },
  async (scene) => {
    scene.cluster.settings = settings({ mode: 'act', quarantine: { quiet: '50ms' } });
    const node = await fault(scene, { code: 'xid/13', action: 'restart-app' });
    await node.result();
    return { 'nodeQuarantine/quiet': node.workflowId };
  },
  async (scene) => {
    scene.cluster.settings = settings({ mode: 'act', quarantine: { quiet: '50ms' } });
    const node = await fault(scene, { source: 'node', code: 'node/not-ready' });
    await node.result();
    return { 'nodeQuarantine/not-ready': node.workflowId };
  },
  async (scene) => {
    const node = await fault(scene, {});
    await nodeIs(node, 'quarantined');
    scene.cluster.nodes.clear();
    await node.signal('nodeObserved', { quarantinedByUs: false });
    await node.result();
    return { 'nodeQuarantine/gone': node.workflowId };
  },
  async (scene) => {
    scene.cluster.mayReserve = '2 nodes are out and 2 may be';
    const node = await fault(scene, {});
    await nodeIs(node, 'held');
    scene.cluster.mayReserve = true;
    await node.signal('permissionChanged');
    await nodeIs(node, 'quarantined');
    return { 'nodeQuarantine/held-then-quarantined': await release(node) };
  },
  async (scene) => {
    const name = addNode(scene.cluster);
    const node = await scene.rig.client.workflow.signalWithStart('nodeQuarantine', {
      workflowId: nodeWorkflowId(name),
      taskQueue: scene.rig.taskQueue,
      args: [{ node: name }],
      signal: 'quarantine',
      signalArgs: [wish],
    });
    await nodeIs(node, 'quarantined');
    return { 'nodeQuarantine/asked-by-a-person': await release(node) };
  },
  async ({ rig }) => {
    const cluster = await rig.client.workflow.start('cluster', {
      workflowId: `cluster-${randomUUID()}`,
      taskQueue: rig.taskQueue,
      args: [{ clusterUid: 'kube-system-uid' }],
    });
    await eventually(
      () => cluster.query<ClusterStatus>(statusQuery),
      ({ counted }) => counted,
    );
    const limit = reserveLimit(1);
    const reserve = (node: string) =>
      cluster.executeUpdate('reserve', { args: [{ limit, wanted: [{ node, nodeUid: node, incident: nodeWorkflowId(node) }] }] });
    await reserve('a');
    await reserve('b');
    await cluster.signal('waiting', { workflowId: nodeWorkflowId('b') });
    await cluster.signal('returned', { nodeUids: ['a'] });
    await cluster.executeUpdate('pause', { args: [wish] });
    await reserve('b');
    await cluster.executeUpdate('resume', { args: [wish] });
    await reserve('b');
    return { 'cluster/reserved-returned-and-paused': cluster.workflowId };
  },
  ...preflightStories,
  async (scene) => {
    train(scene, 1200);
    const job = await watch(scene);
    await tell(job, scene.cluster.quarantined(kernelFault()));
    const incident = await outcome(job, 'recovered');
    return { 'recovery/evidence-kept-and-recovered': incident, 'trainingJob/recovered-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    train(scene, 1200);
    scene.cluster.storeFails = true;
    scene.cluster.verified = () => ({ kind: 'unverified', because: 'step 1100 of 1200' });
    const job = await watch(scene);
    await tell(job, scene.cluster.quarantined(kernelFault()));
    const incident = await outcome(job, 'handed over');
    return { 'recovery/no-evidence-and-not-verified': incident, 'trainingJob/not-verified-then-gone': await gone(scene, job) };
  },
  ...trustStories,
];

/** Keeps the next attempt from becoming ready until the answer is called. */
function hold(cluster: FakeCluster): () => void {
  let open = () => {};
  cluster.gate = new Promise((resolve) => (open = resolve));
  return () => open();
}

function addNode(cluster: FakeCluster): string {
  const name = `gpu-${randomUUID()}`;
  cluster.nodes.set(name, nodeView({ name, uid: `uid-${name}`, systemUuid: `machine-${name}` }));
  return name;
}

function fault({ rig, cluster }: Scene, more: Partial<Fault>): Promise<WorkflowHandle> {
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
  await node.executeUpdate('release', { args: [wish] });
  await node.result();
  return node.workflowId;
}
