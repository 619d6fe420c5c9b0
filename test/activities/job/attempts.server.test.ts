import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { annotations, labels } from '../../../contract/ids.ts';
import type { JobRef, StopMethod } from '../../../contract/job/jobs.ts';
import type { StopRequest, StopResult } from '../../../contract/recovery/recovery.ts';
import { deletePod, podsOfJob } from '../../../kube/pods/pods.ts';
import { askKube, patchObject } from '../../../kube/client/requests.ts';
import { jobPath } from '../../../kube/jobs/kinds/index.ts';
import { succeed } from '../../../testbed/failures.ts';
import { batchJob, pytorchJob } from '../../../testbed/job-manifests.ts';
import { awaitRunning, createJob, type RunningJob } from '../../../testbed/jobs.ts';
import { eventually } from '../../support/rig.ts';
import { liveCluster, type LiveCluster } from '../live-cluster.ts';

let cluster: LiveCluster;
beforeAll(async () => {
  cluster = await liveCluster();
});
afterAll(async () => {
  await Promise.all(
    created.map((job) =>
      askKube(
        cluster.kube,
        { method: 'DELETE', path: jobPath(job), query: { propagationPolicy: 'Background' } },
        'tidy up',
      ).catch(() => undefined),
    ),
  );
  await cluster.close();
});

const created: JobRef[] = [];

const optedIn = { [labels.cascadingRecovery]: 'true' };
const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';
const name = () => `stop-${randomUUID().slice(0, 8)}`;
const refOf = ({ kind, namespace, name: called, uid }: RunningJob): JobRef => ({ kind, namespace, name: called, uid });

async function create(manifest: Parameters<typeof createJob>[1]): Promise<RunningJob> {
  const job = await createJob(cluster.api, manifest);
  created.push(refOf(job));
  return job;
}
const pytorch = (more: Partial<Parameters<typeof pytorchJob>[0]> = {}) =>
  create(pytorchJob({ name: name(), workers: 3, gpus: 0, labels: optedIn, terminationSeconds: 1, ...more }));
const batch = () => create(batchJob({ name: name(), pods: 3, gpus: 0, labels: optedIn, terminationSeconds: 1 }));

/** A stop request for the pods that run now. */
async function requestFor(job: JobRef, by: StopMethod, attempt = 1): Promise<StopRequest> {
  const seen = await settled(job);
  return {
    incident,
    attempt,
    job,
    by,
    resourceVersion: seen.resourceVersion,
    pods: seen.pods,
    because: 'a test asks',
    deadlineMs: 30_000,
  };
}

/** Version and pods of the job, after its controller has written everything about its start. */
async function settled(job: JobRef): Promise<{ resourceVersion: string; pods: StopRequest['pods'] }> {
  for (let last = ''; ;) {
    const seen = await cluster.run('observeAttempt', { job, nodes: [] });
    const version = seen.job?.resourceVersion ?? '';
    if (version === last) return { resourceVersion: version, pods: seen.pods };
    last = version;
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
}

const patchJob = (job: JobRef, patch: object) => patchObject(cluster.kube, jobPath(job), patch, 'change the job');

describe('a look at an attempt', () => {
  it('reports when its oldest pod was created, and the pod whose success is the success of the job', async () => {
    const running = await pytorch();
    const pods = await awaitRunning(cluster.api, running);
    const job = refOf(running);
    const oldest = pods
      .map(({ metadata }) => new Date(metadata?.creationTimestamp ?? 0).getTime())
      .toSorted((a, b) => a - b)[0];
    const before = await cluster.run('observeAttempt', { job, nodes: [] });
    expect(Date.parse(before.oldestPodAt ?? '')).toBe(oldest);
    expect(before.succeeded).toBeUndefined();
    const master = pods.find(({ metadata }) => metadata?.name === `${job.name}-master-0`);
    const worker = pods.find(({ metadata }) => metadata?.name === `${job.name}-worker-0`);
    if (!master || !worker) throw new Error('the job has no master or no worker');
    await succeed(cluster.api, worker);
    expect((await cluster.run('observeAttempt', { job, nodes: [] })).succeeded).toBeUndefined();
    await succeed(cluster.api, master);
    expect((await cluster.run('observeAttempt', { job, nodes: [] })).succeeded).toBe(`${job.name}-master-0`);
  });
});

describe.each<[string, () => Promise<RunningJob>, StopMethod, number]>([
  ['a PyTorchJob by suspending it', () => pytorch(), 'suspend', 1],
  ['a PyTorchJob with Never by suspending it', () => pytorch({ restartPolicy: 'Never' }), 'suspend', 1],
  ['a PyTorchJob by deleting its pods', () => pytorch(), 'delete-collection', 1],
  ['a batch Job by suspending it', () => batch(), 'suspend', 1],
])('stopping %s', (_, make, by, requests) => {
  it('ends with all old pods gone, and all new ones ready after it is resumed', async () => {
    const running = await make();
    await awaitRunning(cluster.api, running);
    const job = refOf(running);
    const request = await requestFor(job, by);
    expect(request.pods).toHaveLength(running.pods);

    expect(await cluster.run('stopAttempt', request)).toMatchObject({ kind: 'stopped', requests });
    const uids = new Set(request.pods.map((pod) => pod.uid));
    expect((await podsOfJob(cluster.kube, job)).present.filter((pod) => uids.has(pod.uid))).toEqual([]);

    expect(await cluster.run('resumeJob', { job, incident })).toEqual({ resumed: by === 'suspend' });
    const next = await cluster.run('awaitAttempt', { incident, job, old: [...uids], deadlineMs: 30_000 });
    expect(next).toMatchObject({ kind: 'running', misplaced: 0 });
    expect(next.kind === 'running' && next.pods.filter((pod) => !uids.has(pod.uid))).toHaveLength(running.pods);

    const after = await cluster.run('observeJob', { job });
    expect(after?.suspension).toBeUndefined();
    expect(after?.finished).toBeUndefined();
  });
});

describe('a stop', () => {
  it('that was already sent is not sent again', async () => {
    const running = await pytorch();
    await awaitRunning(cluster.api, running);
    const request = await requestFor(refOf(running), 'suspend');
    await cluster.run('stopAttempt', request);
    expect(await cluster.run('stopAttempt', request)).toMatchObject({ kind: 'stopped', requests: 0 });
  });

  it('by suspend also waits for a pod that was created after the look, and reports it', async () => {
    const running = await pytorch({ terminationSeconds: 3 });
    await awaitRunning(cluster.api, running);
    const job = refOf(running);
    const { pods, ...request } = await requestFor(job, 'suspend');
    const [late, ...seen] = pods;
    expect(await cluster.run('stopAttempt', { ...request, pods: seen })).toMatchObject({
      kind: 'stopped',
      requests: 1,
      late: [late],
    });
    expect(await podsOfJob(cluster.kube, job)).toMatchObject({ present: [], terminating: [] });
    expect(await cluster.run('resumeJob', { job, incident })).toEqual({ resumed: true });
  });

  it('by suspend does not wait for the pods of an attempt that its owner resumed meanwhile', async () => {
    const running = await pytorch();
    await awaitRunning(cluster.api, running);
    const job = refOf(running);
    const request = await requestFor(job, 'suspend');
    await cluster.run('stopAttempt', request);
    expect(await cluster.run('resumeJob', { job, incident })).toEqual({ resumed: true });
    await awaitRunning(cluster.api, running);
    expect(await cluster.run('stopAttempt', { ...request, force: [] })).toMatchObject({ kind: 'stopped', requests: 0 });
  });

  it('by suspend continues when the job was changed after the look but its pods are the same', async () => {
    const running = await pytorch();
    await awaitRunning(cluster.api, running);
    const job = refOf(running);
    const request = await requestFor(job, 'suspend');
    await patchJob(job, { metadata: { annotations: { 'example.org/note': 'written meanwhile' } } });
    expect(await cluster.run('stopAttempt', request)).toMatchObject({ kind: 'stopped', requests: 1 });
    expect(await cluster.run('resumeJob', { job, incident })).toEqual({ resumed: true });
  });

  it.each<StopMethod>(['suspend', 'delete-collection'])(
    'by %s does nothing when the attempt is not the one that was looked at',
    async (by) => {
      const running = await pytorch();
      await awaitRunning(cluster.api, running);
      const job = refOf(running);
      const request = await requestFor(job, by);
      const [deletedPod] = request.pods;
      if (!deletedPod) throw new Error('no pods');
      await deletePod(cluster.kube, job.namespace, deletedPod);
      await patchJob(job, { metadata: { labels: { changed: 'true' } } });

      expect(await cluster.run('stopAttempt', request)).toMatchObject({ kind: 'interfered' });
      await awaitRunning(cluster.api, running, { except: new Set([deletedPod.uid]) });
      const left = new Set((await podsOfJob(cluster.kube, job)).present.map((pod) => pod.uid));
      expect(request.pods.filter((pod) => pod !== deletedPod && !left.has(pod.uid))).toEqual([]);
    },
  );

  it('never touches a suspend of the owner, and neither does a resume', async () => {
    const running = await pytorch();
    await awaitRunning(cluster.api, running);
    const job = refOf(running);
    await patchJob(job, { spec: { runPolicy: { suspend: true } } });
    const request = await requestFor(job, 'suspend');
    expect(await cluster.run('stopAttempt', request)).toMatchObject({
      kind: 'interfered',
      because: expect.stringContaining('suspended by its owner'),
    });
    expect(await cluster.run('resumeJob', { job, incident })).toEqual({ resumed: false });
    expect((await cluster.run('observeJob', { job }))?.suspension).toEqual({ by: 'owner' });
  });

  it('that another incident began is left to it', async () => {
    const running = await pytorch();
    await awaitRunning(cluster.api, running);
    const job = refOf(running);
    await patchJob(job, {
      metadata: { annotations: { [annotations.suspendedBy]: 'recovery/other#1' } },
      spec: { runPolicy: { suspend: true } },
    });
    expect(await cluster.run('stopAttempt', await requestFor(job, 'suspend'))).toMatchObject({
      kind: 'interfered',
      because: expect.stringContaining('recovery/other'),
    });
    expect(await cluster.run('resumeJob', { job, incident })).toEqual({ resumed: false });
  });

  it('continues in another worker when its own ends, and deletes nothing twice', async () => {
    const running = await pytorch({ terminationSeconds: 6 });
    await awaitRunning(cluster.api, running);
    const request = await requestFor(refOf(running), 'delete-collection');
    const first = await liveCluster();
    const stopping = cluster.client.activity.execute<StopResult>('stopAttempt', {
      id: `stop-${randomUUID()}`,
      taskQueue: first.taskQueue,
      args: [request],
      startToCloseTimeout: '60s',
      heartbeatTimeout: '10s',
      retry: { initialInterval: '200ms' },
    });
    await eventually(
      async () => (await podsOfJob(cluster.kube, request.job)).present,
      (left) => left.length === 0,
    );
    await first.close();
    const second = await liveCluster({ taskQueue: first.taskQueue });
    try {
      expect(await stopping).toMatchObject({ kind: 'stopped', requests: 1 });
    } finally {
      await second.close();
    }
  });

  it('whose pods do not go in time names them', async () => {
    const running = await pytorch({ terminationSeconds: 20 });
    await awaitRunning(cluster.api, running);
    const request = await requestFor(refOf(running), 'delete-collection');
    const result: StopResult = await cluster.run('stopAttempt', { ...request, deadlineMs: 1500 });
    expect(result).toMatchObject({ kind: 'timed-out' });
    expect(result.kind === 'timed-out' && result.left).toHaveLength(4);
  });
});

describe('waiting for the next attempt', () => {
  it('ends when the job is opted out, suspended by its owner, or gone', async () => {
    const running = await pytorch();
    const job = refOf(running);
    const wait = () => cluster.run('awaitAttempt', { incident, job, old: ['none'], deadlineMs: 20_000 });
    await patchJob(job, { metadata: { labels: { [labels.cascadingRecovery]: 'false' } } });
    expect(await wait()).toMatchObject({ kind: 'ended', outcome: 'cancelled', because: 'the job was opted out' });
    await patchJob(job, { metadata: { labels: optedIn }, spec: { runPolicy: { suspend: true } } });
    expect(await wait()).toMatchObject({
      kind: 'ended',
      outcome: 'cancelled',
      because: 'the job is suspended by its owner',
    });
    await cluster.api.custom.deleteNamespacedCustomObject({
      group: 'kubeflow.org',
      version: 'v1',
      plural: 'pytorchjobs',
      namespace: job.namespace,
      name: job.name,
    });
    expect(await wait()).toMatchObject({ kind: 'ended', outcome: 'cancelled', because: 'the job is gone' });
  });

  it('moves a pod away that landed on a quarantined node, and then runs without that node', async () => {
    const running = await pytorch({ workers: 1, startupSeconds: 3 });
    const job = refOf(running);
    const bound = await eventually(
      async () => (await podsOfJob(cluster.kube, job)).present,
      (pods) => pods.length === 2 && pods.every((pod) => pod.node !== undefined),
    );
    const [wrong] = bound;
    const view = wrong?.node === undefined ? null : await cluster.run('observeNode', { node: wrong.node });
    if (!wrong || !view) throw new Error('no node');
    const quarantine = {
      node: view.name,
      uid: view.uid,
      incident: `node/${view.name}/${job.name}`,
      reason: 'test',
      because: 'a test asks',
    };
    try {
      await cluster.run('quarantineNode', quarantine);
      const next = await cluster.run('awaitAttempt', { incident, job, old: [], deadlineMs: 30_000 });
      expect(next.kind === 'running' && next.misplaced).toBe(bound.filter((pod) => pod.node === view.name).length);
      expect(next.kind === 'running' && next.pods.some((pod) => pod.node === view.name || pod.uid === wrong.uid)).toBe(
        false,
      );
    } finally {
      expect(await cluster.run('releaseNode', { ...quarantine, by: 'test' })).toEqual({ kind: 'released' });
    }
  });

  it('that takes too long ends with the message of the scheduler', async () => {
    const running = await pytorch({ workers: 1, gpus: 99 });
    await eventually(
      () => cluster.api.core.listNamespacedPod({ namespace: running.namespace, labelSelector: running.selector }),
      ({ items }) =>
        items.filter(({ status }) =>
          status?.conditions?.some(({ type, status: is }) => type === 'PodScheduled' && is === 'False'),
        ).length === 2,
    );
    expect(
      await cluster.run('awaitAttempt', { incident, job: refOf(running), old: [], deadlineMs: 3000 }),
    ).toMatchObject({
      kind: 'overdue',
      because: expect.stringMatching(/-(master|worker)-0 pending: .*nodes are available.*\(0 of 2 pods ready\)/),
    });
  });
});
