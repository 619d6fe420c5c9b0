import type { V1Pod } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { StopMethod } from '../../contract/job/jobs.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { suspends } from '../../testbed/audit.ts';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import { batchJob, kubeflowJob, type KubeflowJobOptions, type KubeflowKindName } from '../../testbed/job-manifests.ts';
import { endOf, podsOf, readJob } from '../../testbed/jobs.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { until } from '../../testbed/until.ts';
import { suspendsOf, violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, optIn, quick, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), { workflowBundle });
});
afterEach(() => live?.clear(), 120_000);
afterAll(() => live?.close(), 120_000);

const queue = { 'kueue.x-k8s.io/queue-name': 'gpus' };

const run = (
  kind: KubeflowKindName,
  options: Omit<KubeflowJobOptions, 'name'> & { readonly name?: string } = {},
  beside?: LiveJob,
): Promise<LiveJob> =>
  live.run((namespace) => kubeflowJob(kind, { name: 'llm', labels: optIn, ...options, namespace }), beside);

/** The node under the last pod of the job: a worker, where it has one. */
function lastNode(job: LiveJob): SimulatedNode {
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} has no pod on a node`);
  return node;
}

const uidsNow = async (job: LiveJob) =>
  (await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid ?? '').toSorted();
const uidsAtFirst = (job: LiveJob) => job.first.map(({ metadata }) => metadata?.uid ?? '').toSorted();

/** One incident, one stop of the whole attempt by this method, a complete new attempt, and all invariants. */
async function expectRecovered(job: LiveJob, by: StopMethod = 'suspend'): Promise<IncidentRecord> {
  const [record, ...more] = await live.settled(job);
  const facts = await live.facts(job);
  expect(violations(facts)).toEqual([]);
  expect(more).toEqual([]);
  expect(record).toMatchObject({ outcome: 'restarted', stops: [{ by }] });
  expect(record?.stops[0]?.pods.map(({ uid }) => uid).toSorted()).toEqual(uidsAtFirst(job));
  expect(suspendsOf(facts)).toHaveLength(by === 'suspend' ? 1 : 0);
  expect(endOf(await readJob(live.cluster.api, job))).toBeUndefined();
  if (!record) throw new Error('no record');
  return record;
}

describe('a kernel line under a job', () => {
  it.each<[string, KubeflowKindName, Partial<KubeflowJobOptions>]>([
    ['TFJob with a chief', 'TFJob', {}],
    ['TFJob that has only workers', 'TFJob', { roles: { Worker: 2 } }],
    ['XGBoostJob', 'XGBoostJob', { roles: { Master: 1, Worker: 1 } }],
    ['PaddleJob', 'PaddleJob', { roles: { Master: 1, Worker: 1 } }],
  ])('%s restarts all of it elsewhere', async (_sentence, kind, options) => {
    const job = await run(kind, { terminationSeconds: 1, ...options });
    await breakGpu(lastNode(job), xid79);
    await expectRecovered(job);
  });
});

describe('an MPIJob', () => {
  it('is restarted with its launcher, whose failure after the stop of its workers is no second incident', async () => {
    const job = await run('MPIJob', { terminationSeconds: 3, exitOnTerm: 143 });
    const launcher = job.first.find(({ metadata }) => metadata?.name === `${job.name}-launcher`);
    if (!launcher) throw new Error('the job has no launcher');
    await breakGpu(lastNode(job), xid79);
    await live.recorder.seen(`${job.name} suspended`, 60_000, () => live.recorder.isSuspended(job));
    await failContainer(live.cluster.api, launcher, { exitCode: 1 }).catch(unlessGone);
    await expectRecovered(job);
  });
});

/** On a slow machine the pod may be gone before it could fail. */
function unlessGone(error: { readonly code?: number }): void {
  if (error.code !== 404 && error.code !== 409) throw error;
}

describe('a preference for delete-collection', () => {
  const { recovery } = quick;
  beforeAll(
    () => live.kcover.reconfigure({ ...quick, recovery: { ...recovery, stop: { PyTorchJob: 'delete-collection' } } }),
    120_000,
  );
  afterAll(() => live.kcover.reconfigure(quick), 120_000);

  it.each<[NonNullable<KubeflowJobOptions['restartPolicy']>, number]>([
    ['Never', 143],
    ['ExitCode', 1],
  ])('is replaced by suspend with restart policy %s', async (restartPolicy, exitOnTerm) => {
    const job = await run('PyTorchJob', { terminationSeconds: 1, restartPolicy, exitOnTerm });
    await breakGpu(lastNode(job), xid79);
    await expectRecovered(job, 'suspend');
  });
});

describe('two jobs of different kinds with one name in one namespace', () => {
  it('are distinguished: only the one on the bad node is restarted', async () => {
    const pytorch = await run('PyTorchJob', { roles: { Master: 1, Worker: 1 } });
    // Roles that give its pods other names: otherwise both jobs would claim the same pods.
    const twin = await run('TFJob', { roles: { Chief: 1, PS: 1 } }, pytorch);
    expect(twin.name).toBe(pytorch.name);
    await breakGpu(lastNode(twin), xid79);
    await expectRecovered(twin);
    expect(await uidsNow(pytorch)).toEqual(uidsAtFirst(pytorch));
    expect(live.records(pytorch)).toEqual([]);
    expect(suspendsNamed(await live.writes(pytorch.since), 'pytorchjobs')).toEqual([]);
  });
});

describe('a pod with the labels of a job and another owner', () => {
  it('is left alone when the pods of the job are deleted', async () => {
    const job = await run('PyTorchJob', { labels: { ...optIn, ...queue }, roles: { Master: 1, Worker: 1 } });
    const stray = await strayOf(job);
    await breakGpu(lastNode(job), xid79);
    await expectRecovered(job, 'delete-collection');
    const { metadata } = await live.cluster.api.core.readNamespacedPod({ namespace: job.namespace, name: 'stray' });
    expect(metadata).toMatchObject({ uid: stray.metadata?.uid });
    expect(metadata?.deletionTimestamp).toBeUndefined();
    await live.cluster.api.core.deleteNamespacedPod({ namespace: job.namespace, name: 'stray', gracePeriodSeconds: 0 });
  });
});

/** Controlled by a ConfigMap, and never scheduled. */
async function strayOf({ namespace, first }: LiveJob): Promise<V1Pod> {
  const { core } = live.cluster.api;
  const { metadata } = await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'owner' } } });
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: metadata?.uid ?? '', controller: true };
  const labels = { ...first.at(-1)?.metadata?.labels };
  const spec = {
    schedulerName: 'none',
    serviceAccountName: 'default',
    containers: [{ name: 'pytorch', image: 'registry.k8s.io/pause:3.10' }],
  };
  return core.createNamespacedPod({
    namespace,
    body: { metadata: { name: 'stray', labels, ownerReferences: [owner] }, spec },
  });
}

const suspendsNamed = (writes: Parameters<typeof suspends>[0], resource: string) =>
  suspends(writes).filter((write) => write.resource === resource);

describe('a job whose suspend belongs to a queue', () => {
  it('is restarted by delete-collection where its controller survives that', async () => {
    const job = await run('PyTorchJob', { labels: { ...optIn, ...queue }, terminationSeconds: 1, exitOnTerm: 143 });
    await breakGpu(lastNode(job), xid79);
    await expectRecovered(job, 'delete-collection');
    expect(await suspendOf(job)).toBe(false);
  });

  it.each<[string, () => Promise<LiveJob>, RegExp]>([
    [
      'PyTorchJob with Never',
      () => run('PyTorchJob', { labels: { ...optIn, ...queue }, restartPolicy: 'Never' }),
      /queue gpus owns its suspend field, and with restart policy Never/,
    ],
    [
      'MPIJob',
      () => run('MPIJob', { labels: { ...optIn, ...queue } }),
      /queue gpus owns its suspend field, and the controller of MPIJob fails/,
    ],
    [
      'batch Job',
      () => live.run((namespace) => batchJob({ name: 'llm', namespace, pods: 2, labels: { ...optIn, ...queue } })),
      /queue gpus owns its suspend field, and a batch Job counts deleted pods/,
    ],
  ])('is refused with the reason, and left as it is: %s', async (_sentence, make, because) => {
    const job = await make();
    await live.event(job, 'NotRecoverable', because);
    await breakGpu(lastNode(job), xid79);
    const record = await until(`record of ${job.name}`, 60_000, async () => {
      const [found] = live.records(job);
      return found ? { found } : { missing: 'no record' };
    });
    expect(record).toMatchObject({ outcome: 'refused', because: expect.stringMatching(because), stops: [] });
    expect(await uidsNow(job)).toEqual(uidsAtFirst(job));
    expect(await suspendOf(job)).toBe(false);
    expect(suspendsOf(await live.facts(job))).toEqual([]);
  });
});

async function suspendOf(job: LiveJob): Promise<boolean> {
  const { spec } = await readJob(live.cluster.api, job);
  return spec.suspend ?? spec.runPolicy?.suspend ?? false;
}
