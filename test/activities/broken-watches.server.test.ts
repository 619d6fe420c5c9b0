import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { labels } from '../../contract/ids.ts';
import type { JobRef } from '../../contract/job/jobs.ts';
import type { AwaitResult } from '../../contract/recovery/recovery.ts';
import { jobPath } from '../../kube/jobs/kinds/index.ts';
import { askKube } from '../../kube/client/requests.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { type ApiProxy, openApiProxy } from '../../testbed/api-proxy.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { awaitRunning, createJob, type RunningJob } from '../../testbed/jobs.ts';
import { Ports } from '../../testbed/servers/ports.ts';
import { until } from '../../testbed/until.ts';
import { liveCluster, type LiveCluster } from './live-cluster.ts';

let proxy: ApiProxy;
let kubeconfig: string;
let cluster: LiveCluster;
const created: JobRef[] = [];
beforeAll(async () => {
  const testCluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const directory = join(testCluster.directory, 'watch-proxy');
  mkdirSync(directory);
  const to = { server: testCluster.kubernetes.server, authority: testCluster.kubernetes.authority };
  proxy = await openApiProxy({ to, port: await new Ports(testCluster.directory).take(), directory });
  kubeconfig = await testCluster.kubernetes.kubeconfigFor({ namespace: ownNamespace, name: 'kcover-worker' }, proxy);
  cluster = await liveCluster({ kubeconfig });
});
afterAll(async () => {
  proxy.setFaultProfile({});
  const remove = (job: JobRef) =>
    askKube(
      cluster.kube,
      { method: 'DELETE', path: jobPath(job), query: { propagationPolicy: 'Background' } },
      'tidy up',
    );
  await Promise.all(created.map((job) => remove(job).catch(() => undefined)));
  await cluster.close();
  await proxy.close();
});

const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';

async function create(more: Partial<Parameters<typeof pytorchJob>[0]>): Promise<RunningJob> {
  const name = `cut-${randomUUID().slice(0, 8)}`;
  const job = await createJob(
    cluster.api,
    pytorchJob({ name, workers: 1, gpus: 0, labels: { [labels.cascadingRecovery]: 'true' }, ...more }),
  );
  created.push(refOf(job));
  return job;
}
const refOf = ({ kind, namespace, name, uid }: RunningJob): JobRef => ({ kind, namespace, name, uid });

describe('a watch that is cut again and again', () => {
  it('keeps no deadline from passing', async () => {
    const running = await create({ terminationSeconds: 30 });
    await awaitRunning(cluster.api, running);
    const job = refOf(running);
    const { pods, job: seen } = await cluster.run('observeAttempt', { job, nodes: [] });
    const stop = {
      incident,
      attempt: 1,
      job,
      by: 'suspend',
      resourceVersion: seen?.resourceVersion ?? '',
      pods,
      because: 'a test asks',
    } as const;
    proxy.setFaultProfile({ 'cut watch': 1 });
    const since = new Date().toISOString();
    const proof = { incident, job, since, beyond: 1200, firstMs: 3000, stallMs: 3000, mostMs: 9000 };
    const results = await Promise.all([
      cluster.run('awaitAttempt', { incident, job, old: pods.map(({ uid }) => uid), deadlineMs: 3000 }),
      cluster.run('verifyProgress', proof),
      cluster.run('awaitCheckpoint', { incident, job, atLeast: 1200, withinMs: 3000 }),
      cluster.run('stopAttempt', { ...stop, deadlineMs: 3000 }),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['overdue', 'unverified', 'missed', 'timed-out']);
    expect(proxy.injected['cut watch']).toBeGreaterThan(4);
  });
});

describe('a worker that is replaced again and again', () => {
  it('keeps no deadline from passing', async () => {
    proxy.setFaultProfile({});
    const job = refOf(await create({ gpus: 99 }));
    const taskQueue = `replaced-${randomUUID()}`;
    let worker = await liveCluster({ taskQueue });
    const handle = await cluster.client.activity.start<AwaitResult>('awaitAttempt', {
      id: `await-${randomUUID()}`,
      taskQueue,
      args: [{ incident, job, old: [], deadlineMs: 8000 }],
      startToCloseTimeout: '120s',
      heartbeatTimeout: '20s',
      retry: { initialInterval: '200ms', maximumInterval: '1s' },
    });
    const result = handle.result();
    const over = result.then(() => true);
    let workers = 1;
    for (; workers < 20 && !(await Promise.race([over, sleep(3000).then(() => false)])); workers++) {
      const next = await liveCluster({ taskQueue });
      await worker.close();
      worker = next;
    }
    await worker.close();
    expect(workers).toBeGreaterThan(2);
    expect(await Promise.race([result, Promise.resolve('not over')])).toMatchObject({ kind: 'overdue' });
  });
});

describe('an outage that begins with the answer to the stop', () => {
  it('does not count towards the deadline of the stop, which then ends as one that was sent', async () => {
    const running = await create({ terminationSeconds: 1 });
    await awaitRunning(cluster.api, running);
    const job = refOf(running);
    const { pods, job: seen } = await cluster.run('observeAttempt', { job, nodes: [] });
    const request = {
      incident,
      attempt: 1,
      job,
      by: 'suspend',
      resourceVersion: seen?.resourceVersion ?? '',
      pods,
      because: 'a test asks',
    } as const;
    const before = proxy.injected['cut after'];
    proxy.setFaultProfile({ 'cut after': 1 }, ({ method }) => method === 'PATCH');
    const stopping = cluster.run('stopAttempt', { ...request, deadlineMs: 2000 });
    await until('the answer is lost', 20_000, () =>
      Promise.resolve(proxy.injected['cut after'] > before ? { found: true } : { missing: 'no change was asked for' }),
    );
    proxy.setFaultProfile({ 'cut before': 1 });
    proxy.cutWatches();
    await sleep(5000);
    proxy.setFaultProfile({});
    expect(await stopping).toMatchObject({ kind: 'stopped', requests: 1 });
    expect(await cluster.run('resumeJob', { job, incident })).toEqual({ resumed: true });
  });
});
