import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { labels, nodeWorkflowId } from '../../contract/ids.ts';
import { type OperatorRequest, statusQuery, updates } from '../../contract/wire/messages.ts';
import type { RecoveryPhase, RecoveryStatus } from '../../contract/recovery/recovery.ts';
import { merge } from '../../testbed/api.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { deletesOfPods } from '../../testbed/audit.ts';
import { breakGpu, succeed } from '../../testbed/failures.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob, podsOf, type RunningJob } from '../../testbed/jobs.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { until } from '../../testbed/until.ts';
import { suspendsOf } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, optIn, quick, xid79 } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

const request: OperatorRequest = { by: 'ada', reason: 'the test needs time' };

let live: LiveKcover;
/** Nodes that get quarantined, however the scenario of the job ends. */
const broken: SimulatedNode[] = [];

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    workerSettings: quick,
  });
});
afterEach(async () => {
  await pause(false);
  for (const node of broken.splice(0)) await live.quarantined(node);
  await live.clear();
});
afterAll(() => live?.close(), 120_000);

/** While paused, a recovery holds and a quarantine waits. */
const pause = (paused: boolean) =>
  live.temporal.workflow
    .getHandle('cluster')
    .executeUpdate(paused ? updates.pause : updates.resume, { args: [request] });

/** Waits until the open recovery of the job is in this phase. */
const inPhase = (job: LiveJob, phase: RecoveryPhase) =>
  until(`${job.name} ${phase}`, 60_000, async () => {
    const { incident } = await live.status(job);
    if (incident === undefined) return { missing: 'no incident is open' };
    const status = await live.temporal.workflow.getHandle(incident).query<RecoveryStatus>(statusQuery);
    return status.phase === phase ? { found: status } : { missing: `${status.phase}: ${status.because}` };
  });

/** A job whose node broke while kcover was paused: its recovery holds. */
async function heldJob(): Promise<LiveJob> {
  const job = await live.pytorch();
  await pause(true);
  const [node] = job.nodes;
  if (!node) throw new Error('the job has no pod on a node');
  await breakGpu(node, xid79);
  broken.push(node);
  await inPhase(job, 'held');
  return job;
}

/** A job in the middle of a stop, with slowly terminating pods. */
async function stoppingJob(workers = 1): Promise<LiveJob> {
  const job = await live.pytorch({ workers, terminationSeconds: 4 });
  const [node] = job.nodes;
  if (!node) throw new Error('the job has no pod on a node');
  await breakGpu(node, xid79);
  broken.push(node);
  await inPhase(job, 'stopping');
  // The phase begins before the stop is sent; a recovery that is cancelled before that has stopped nothing.
  await until(`${job.name} suspended`, 60_000, async () =>
    live.recorder.isSuspended(job) ? { found: true } : { missing: 'not yet' },
  );
  return job;
}

/** The only record of a job, whether the job still runs or not. */
const recordOf = (job: LiveJob) =>
  until(`record of ${job.name}`, 60_000, async () => {
    const [record] = live.records(job);
    return record ? { found: record } : { missing: 'no record' };
  });

const custom = ({ namespace, name }: Pick<LiveJob, 'namespace' | 'name'>) => ({
  group: 'kubeflow.org',
  version: 'v1',
  plural: 'pytorchjobs',
  namespace,
  name,
});
const change = (job: LiveJob, body: object) =>
  live.cluster.api.custom.patchNamespacedCustomObject({ ...custom(job), body }, merge);
const remove = (job: LiveJob) => live.cluster.api.custom.deleteNamespacedCustomObject(custom(job));
const uidsNow = async (job: RunningJob) =>
  (await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid ?? '').toSorted();
const uidsAtFirst = (job: LiveJob) => job.first.map(({ metadata }) => metadata?.uid ?? '').toSorted();

describe('a job that changes while its recovery holds', () => {
  it('is left alone once its owner suspended it, and stays suspended', async () => {
    const job = await heldJob();
    await change(job, { spec: { runPolicy: { suspend: true } } });
    await pause(false);
    expect(await recordOf(job)).toMatchObject({
      outcome: 'cancelled',
      because: expect.stringContaining('suspended by its owner'),
      stops: [],
    });
    const { spec } = (await live.cluster.api.custom.getNamespacedCustomObject(custom(job))) as {
      spec: { runPolicy?: { suspend?: boolean } };
    };
    expect(spec.runPolicy?.suspend).toBe(true);
  });

  it('is left alone once it succeeded', async () => {
    const job = await heldJob();
    for (const pod of job.first) await succeed(live.cluster.api, pod);
    await until('job succeeded', 60_000, async () => {
      const { status } = (await live.cluster.api.custom.getNamespacedCustomObject(custom(job))) as {
        status: { conditions: { type: string; status: string }[] };
      };
      return status.conditions.some((one) => one.type === 'Succeeded' && one.status === 'True')
        ? { found: true }
        : { missing: 'not yet' };
    });
    await pause(false);
    expect(await recordOf(job)).toMatchObject({
      outcome: 'cancelled',
      because: expect.stringContaining('succeeded'),
      stops: [],
    });
  });

  it('is left alone once its label was removed', async () => {
    const job = await heldJob();
    await change(job, { metadata: { labels: { [labels.cascadingRecovery]: null } } });
    await pause(false);
    expect(await recordOf(job)).toMatchObject({
      outcome: 'cancelled',
      because: expect.stringContaining('opted out'),
      stops: [],
    });
    expect(await uidsNow(job)).toEqual(uidsAtFirst(job));
  });

  it('is another job when it was recreated under its old name, and the new one is left alone', async () => {
    const job = await heldJob();
    await remove(job);
    await until('old pods gone', 60_000, async () =>
      (await uidsNow(job)).length === 0 ? { found: true } : { missing: 'pods left' },
    );
    const next = await createJob(
      live.cluster.api,
      pytorchJob({ name: job.name, namespace: job.namespace, workers: 1, labels: optIn }),
    );
    const running = await awaitRunning(live.cluster.api, next);
    await pause(false);
    expect(await recordOf(job)).toMatchObject({ outcome: 'cancelled', stops: [] });
    expect(next.uid).not.toBe(job.uid);
    expect(await uidsNow(next)).toEqual(running.map(({ metadata }) => metadata?.uid ?? '').toSorted());
    expect(live.records(next)).toEqual([]);
  });
});

describe('a job that changes in the middle of a stop', () => {
  it('ends the recovery when it is deleted', async () => {
    const job = await stoppingJob();
    await remove(job);
    expect((await recordOf(job)).outcome).toBe('cancelled');
    const { writes } = await live.facts(job);
    expect([...deletesOfPods(writes).values()].filter((times) => times > 1)).toEqual([]);
  });

  it('is resumed when it opts out, because kcover had stopped it', async () => {
    const job = await stoppingJob();
    await change(job, { metadata: { labels: { [labels.cascadingRecovery]: null } } });
    expect(await recordOf(job)).toMatchObject({ outcome: 'cancelled', because: expect.stringContaining('opted out') });
    await awaitRunning(live.cluster.api, job, {
      except: new Set(job.first.map(({ metadata }) => metadata?.uid ?? '')),
    });
    expect(live.recorder.isSuspended(job)).toBe(false);
  });

  it('comes back with as many pods as its owner has set by then', async () => {
    const job = await stoppingJob(2);
    await change(job, { spec: { pytorchReplicaSpecs: { Worker: { replicas: 1 } } } });
    const [record] = await live.settled({ ...job, pods: 2 });
    expect(record).toMatchObject({ outcome: 'restarted' });
    expect(record?.runningPods).toHaveLength(2);
    const facts = await live.facts({ ...job, pods: 2 });
    expect(suspendsOf(facts)).toHaveLength(1);
  });
});

describe('a quarantine taint that a person removes by hand', () => {
  it('counts as a release by that person: recorded, and not reverted', async () => {
    const job = await live.pytorch();
    const [node] = job.nodes;
    if (!node) throw new Error('the job has no pod on a node');
    await breakGpu(node, xid79);
    await live.settled(job);
    await live.quarantined(node);
    await live.cluster.api.core.patchNode({ name: node.name, body: { spec: { taints: null } } }, merge);
    const outcome = await live.temporal.workflow.getHandle(nodeWorkflowId(node.name)).result();
    expect(outcome).toMatchObject({ outcome: 'released', because: expect.stringContaining('removed by hand') });
    await live.recorder.seen(`release of ${node.name}`, 60_000, () => !live.recorder.isQuarantined(node.name));
  });
});
