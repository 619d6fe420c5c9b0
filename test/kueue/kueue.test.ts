/** Jobs that Kueue itself admits and preempts, and kcover beside it. */

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { readJob as readView } from '../../kube/jobs/jobs.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu } from '../../testbed/failures.ts';
import { batchJob, type JobManifest, pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob, placeOf, podsOf, type RunningJob } from '../../testbed/jobs.ts';
import { queueName } from '../../testbed/kueue.ts';
import { until } from '../../testbed/until.ts';
import { suspendsOf, violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, optIn, xid79 } from '../support/live-kcover.ts';
import { eventually, testServers, type TestServers } from '../support/rig.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;
const queue = { ...optIn, 'kueue.x-k8s.io/queue-name': queueName };
const urgent = { ...queue, 'kueue.x-k8s.io/priority-class': 'urgent' };

let live: LiveKcover;
let kube: Kube;
const created: RunningJob[] = [];

beforeAll(async () => {
  const { workflowBundle, kubeconfig } = testServers<TestServers & { readonly kubeconfig: string }>();
  kube = connectKube({ kubeconfig });
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), { workflowBundle });
});
afterEach(async () => {
  for (const job of created.splice(0)) await remove(job);
});
afterAll(async () => {
  await live?.close();
  await kube?.close();
}, 120_000);

async function remove(job: RunningJob): Promise<void> {
  await live.cluster.api.custom
    .deleteNamespacedCustomObject({ ...placeOf(job), propagationPolicy: 'Background' })
    .catch(() => undefined);
  await eventually(
    () => podsOf(live.cluster.api, job),
    (pods) => pods.length === 0,
  );
}

const nameOf = (prefix: string): string => `${prefix}-${randomUUID().slice(0, 8)}`;
const pytorch = (labels: Readonly<Record<string, string>>, gpus = 1) =>
  pytorchJob({ name: nameOf('llm'), namespace: 'default', workers: 1, gpus, labels, terminationSeconds: 1 });
const batch = (gpus = 1) => batchJob({ name: nameOf('batch'), namespace: 'default', pods: 2, gpus, labels: queue });

async function create(manifest: JobManifest): Promise<RunningJob> {
  const job = await createJob(live.cluster.api, manifest);
  created.push(job);
  return job;
}
async function run(manifest: JobManifest): Promise<LiveJob> {
  const since = new Date();
  const job = await create(manifest);
  const first = await awaitRunning(live.cluster.api, job);
  const nodes = first.flatMap(({ spec }) => live.cluster.nodes.find(({ name }) => name === spec?.nodeName) ?? []);
  return { ...job, first, nodes, since };
}
const view = (job: RunningJob) => readView(kube, job, taint);
const suspended = (job: RunningJob) =>
  eventually(
    async () => (await view(job))?.suspension,
    (suspension) => suspension !== undefined,
  );
const firstNode = ({ nodes: [node] }: LiveJob) => {
  if (!node) throw new Error('its first pod is on no node');
  return node;
};

it.each([
  ['PyTorchJob', () => pytorch(queue), ['delete-collection']],
  ['Job', () => batch(), []],
] as const)('a %s runs once Kueue admits it, and kcover may not suspend it', async (_kind, manifest, canStopBy) => {
  const job = await run(manifest());
  expect(await view(job)).toMatchObject({ queue: queueName, podsExpected: 2, canStopBy });
  expect((await view(job))?.suspension).toBeUndefined();
});

it('a job beyond the quota waits, suspended by its owner, and has no incident when it runs later', async () => {
  const running = await run(batch(2));
  const waiting = await create(pytorch(queue));
  expect(await suspended(waiting)).toEqual({ by: 'owner' });
  await remove(running);
  const since = new Date();
  const first = await awaitRunning(live.cluster.api, waiting);
  expect(await live.settled({ ...waiting, first, nodes: [], since }, { incidents: 0 })).toEqual([]);
});

it('a PyTorchJob is recovered by deleting its pods', async () => {
  const job = await run(pytorch(queue));
  await breakGpu(firstNode(job), xid79);
  const records = await live.settled(job);
  expect(records).toMatchObject([{ outcome: 'restarted', stops: [{ by: 'delete-collection' }] }]);
  const facts = await live.facts(job);
  expect(violations(facts)).toEqual([]);
  expect(suspendsOf(facts)).toEqual([]);
});

it('a batch Job is refused, with the queue in the reason, and keeps its pods', async () => {
  const job = await run(batch());
  await breakGpu(firstNode(job), xid79);
  const said = await until('refused', 60_000, async () => {
    const { stdout } = await live.runCli('status', `job/${job.name}`, '-n', 'default');
    return stdout.includes('refused') ? { found: stdout } : { missing: stdout };
  });
  expect(said).toContain(`queue ${queueName} owns its suspend field`);
  expect((await view(job))?.suspension).toBeUndefined();
  expect((await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid)).toEqual(
    job.first.map(({ metadata }) => metadata?.uid),
  );
});

it.each([
  ['PyTorchJob', () => pytorch(queue, 2)],
  ['Job', () => batch(2)],
] as const)('a %s that Kueue preempts has no incident, and blames no node', async (_kind, manifest) => {
  const job = await run(manifest());
  const stronger = await run(pytorch(urgent, 2));
  expect(await suspended(job)).toEqual({ by: 'owner' });
  await remove(stronger);
  const first = await awaitRunning(live.cluster.api, job);
  expect(await live.settled({ ...job, first }, { incidents: 0 })).toEqual([]);
  const taints = await Promise.all(
    job.nodes.map(async ({ name }) => (await live.cluster.api.core.readNode({ name })).spec?.taints ?? []),
  );
  expect(job.nodes).toHaveLength(2);
  expect(taints.flat()).toEqual([]);
});
