import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jobWorkflowId, preflightWorkflowId } from '../../contract/ids.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu } from '../../testbed/failures.ts';
import { batchJob } from '../../testbed/job-manifests.ts';
import { podsOf } from '../../testbed/jobs.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { until } from '../../testbed/until.ts';
import { type LiveJob, LiveKcover, optIn, quick, xid79 } from '../support/live-kcover.ts';
import { LivePreflight } from '../support/live-preflight.ts';
import { testServers } from '../support/rig.ts';
import { Tenant } from '../support/tenant.ts';

let live: LiveKcover;
let preflight: LivePreflight;
let tenant: Tenant;
let targetJob: LiveJob;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    workerSettings: quick,
    agentsOn: [],
  });
  preflight = new LivePreflight(live);
  await preflight.agents.watch(live.cluster.nodes);
});
beforeEach(async () => {
  tenant = new Tenant(live.cluster.api);
  await tenant.arrive();
  targetJob = await live.run((namespace) => batchJob({ name: 'llm', namespace, pods: 2, labels: optIn }));
});
afterEach(async () => {
  await tenant?.leave();
  await preflight?.clear();
}, 120_000);
afterAll(() => preflight?.close(), 120_000);

const pids = (): (number | undefined)[] => [...live.kcover.workers, live.kcover.controller].map(({ pid }) => pid);
const uids = async (job: LiveJob): Promise<string[]> =>
  (await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid ?? '').toSorted();
const nodeOf = (job: LiveJob, index: number): SimulatedNode => {
  const node = job.nodes[index];
  if (!node) throw new Error(`${job.name} has no pod ${index}`);
  return node;
};
/** Names with a path from the tenant's namespace to the job, names that end the path or the query early, and the job's own name. */
const forgedNames = ({ namespace, name }: LiveJob): readonly string[] => [
  `../../${namespace}/jobs/${name}`,
  `./../../${namespace}/jobs/${name}`,
  `../../${namespace}/jobs/${name}?`,
  `../../${namespace}/jobs/${name}#x`,
  `%2e%2e/%2e%2e/${namespace}/jobs/${name}`,
  `${name}?' OR ExecutionStatus = 'Running' OR WorkflowId = '`,
  name,
];
const batchLabels = (uid: string, rank: number) => ({
  'batch.kubernetes.io/controller-uid': uid,
  'batch.kubernetes.io/job-name': 'bench',
  'batch.kubernetes.io/job-completion-index': String(rank),
});

/** A pod without an existing owner may be deleted before its test has ended. */
function ignoreRemoved(error: { readonly code?: number }): void {
  if (error.code !== 404) throw error;
}

/** Ids of all workflows that Temporal lists, once this one is listed: visibility lags behind. */
const workflowIds = (known: string): Promise<readonly string[]> =>
  until(`${known} is listed`, 60_000, async () => {
    const ids: string[] = [];
    for await (const { workflowId } of live.temporal.workflow.list({ query: "StartTime > '2020-01-01T00:00:00Z'" }))
      ids.push(workflowId);
    return ids.includes(known) ? { found: ids } : { missing: `${ids.length} others are` };
  });

/** Its workflow still watches, and nothing was written to the job or its namespace. */
async function expectUntouched(job: LiveJob, before: readonly string[]): Promise<void> {
  expect(await live.status(job)).toMatchObject({ phase: 'watching' });
  expect(await live.recoveries(job)).toEqual([]);
  expect(live.records(job)).toEqual([]);
  expect(await uids(job)).toEqual(before);
  const writes = await live.writes(job.since);
  expect(
    writes.filter(({ namespace, requestURI }) => namespace === job.namespace || requestURI.includes(job.namespace)),
  ).toEqual([]);
}

describe('a tenant who knows the UID of a job in another namespace', () => {
  it('can neither stop it nor prevent its recovery by pods that claim it, when a node breaks under them', async () => {
    const [before, running] = [await uids(targetJob), pids()];
    const honest = await live.pytorch();
    const node = nodeOf(honest, 1);
    for (const job of [targetJob, honest]) {
      const { apiVersion, kind } =
        job === targetJob
          ? { apiVersion: 'batch/v1', kind: 'Job' }
          : { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob' };
      for (const name of forgedNames(job))
        await tenant.pod({ owner: { apiVersion, kind, name, uid: job.uid }, node, labels: batchLabels(job.uid, 0) });
    }
    await breakGpu(node, xid79);

    await live.quarantined(node);
    const [record] = await live.settled(honest);
    expect(record).toMatchObject({ outcome: 'restarted', stops: [expect.anything()] });
    await expectUntouched(targetJob, before);
    const ids = await workflowIds(record?.incident ?? '');
    expect(ids).toContain(jobWorkflowId(honest));
    expect(ids.filter((id) => id.includes(targetJob.uid))).toEqual([jobWorkflowId(targetJob)]);
    expect(ids.filter((id) => id.includes(tenant.namespace) || !/^[\w./:-]+$/.test(id))).toEqual([]);
    expect(pids()).toEqual(running);
  });

  it('cannot cause a quarantine or a verdict by reports of pods that claim it', async () => {
    const [before, running] = [await uids(targetJob), pids()];
    const honest = await preflight.job({ pods: 2 });
    const [kept, broken] = [nodeOf(honest, 0), nodeOf(honest, 1)];
    for (const name of forgedNames(targetJob)) {
      const pod = await tenant.pod({
        owner: { apiVersion: 'batch/v1', kind: 'Job', name, uid: targetJob.uid },
        node: kept,
        labels: batchLabels(targetJob.uid, 0),
      });
      if (pod) await tenant.reportBrokenGpus('bench', [pod, pod], live.cluster.nodes).catch(ignoreRemoved);
    }
    await preflight.end(honest, { failed: { [broken.name]: 'gpu' } });

    const { verdict } = await preflight.verdict(honest);
    expect(verdict?.failed.map(({ node }) => node)).toEqual([broken.name]);
    await live.quarantined(broken);
    expect(live.recorder.isQuarantined(kept.name)).toBe(false);
    await expectUntouched(targetJob, before);
    const ids = await workflowIds(preflightWorkflowId(honest));
    expect(ids.filter((id) => id.includes(targetJob.uid))).toEqual([jobWorkflowId(targetJob)]);
    expect(ids.filter((id) => id.includes(tenant.namespace))).toEqual([]);
    expect(pids()).toEqual(running);
  });
});

describe('a tenant whose pods ask for no GPU', () => {
  it('causes no quarantine and no restart by reports of a workload that kcover does not know', async () => {
    const [before, running] = [await uids(targetJob), pids()];
    const labels = (rank: number) => ({
      'training.kubeflow.org/job-name': 'mine',
      'training.kubeflow.org/replica-type': 'worker',
      'training.kubeflow.org/replica-index': String(rank),
    });
    const owner = { apiVersion: 'example.com/v1', kind: 'Idler', name: 'mine', uid: targetJob.uid };
    const pods = await Promise.all(
      [0, 1].map((rank) => tenant.pod({ owner, node: nodeOf(targetJob, rank), labels: labels(rank) })),
    );
    await tenant.reportBrokenGpus(
      'mine',
      pods.flatMap((pod) => pod ?? []),
      live.cluster.nodes,
    );

    const mine = { namespace: tenant.namespace, name: 'mine', uid: targetJob.uid };
    const { outcome, received, verdict } = await preflight.verdict(mine);
    expect({ outcome, received }).toEqual({ outcome: 'judged', received: 2 });
    expect(verdict).toMatchObject({ failed: [], slow: [], counts: { failed: 0, slow: 0, undetermined: 2 } });
    for (const { because } of verdict?.undetermined ?? [])
      expect(because).toContain('its pods request 0 of the 8 accelerators of the node');
    for (const { name } of targetJob.nodes) expect(live.recorder.isQuarantined(name)).toBe(false);

    const honest = await preflight.job({ pods: 2 });
    const broken = nodeOf(honest, 1);
    await preflight.end(honest, { failed: { [broken.name]: 'gpu' } });
    await live.quarantined(broken);
    await expectUntouched(targetJob, before);
    expect(pids()).toEqual(running);
  });
});
