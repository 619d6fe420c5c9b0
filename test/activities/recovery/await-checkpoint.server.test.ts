import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { annotations, labels } from '../../../contract/ids.ts';
import type { JobRef } from '../../../contract/job/jobs.ts';
import type { CheckpointRequest, CheckpointResult } from '../../../contract/recovery/plan.ts';
import { jobPath, suspensionId } from '../../../kube/jobs/kinds/index.ts';
import { askKube, patchObject, readObject } from '../../../kube/client/requests.ts';
import { pytorchJob } from '../../../testbed/job-manifests.ts';
import { createJob } from '../../../testbed/jobs.ts';
import { eventually } from '../../support/rig.ts';
import { liveCluster, type LiveCluster } from '../live-cluster.ts';

let cluster: LiveCluster;
const created: JobRef[] = [];
beforeAll(async () => {
  cluster = await liveCluster();
});
afterAll(async () => {
  await Promise.all(created.map((job) => remove(job).catch(() => undefined)));
  await cluster.close();
});

const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';
const remove = (job: JobRef) =>
  askKube(
    cluster.kube,
    { method: 'DELETE', path: jobPath(job), query: { propagationPolicy: 'Background' } },
    'tidy up',
  );
const patchJob = (job: JobRef, patch: object) => patchObject(cluster.kube, jobPath(job), patch, 'change the job');
const says = (job: JobRef, step: number, checkpointStep: number) =>
  patchJob(job, {
    metadata: {
      annotations: {
        [annotations.step]: String(step),
        [annotations.checkpointStep]: String(checkpointStep),
        [annotations.progressAt]: new Date().toISOString(),
      },
    },
  });

async function training(): Promise<JobRef> {
  const name = `saves-${randomUUID().slice(0, 8)}`;
  const options = { name, workers: 0, gpus: 0, labels: { [labels.cascadingRecovery]: 'true' }, terminationSeconds: 1 };
  const { kind, namespace, uid } = await createJob(cluster.api, pytorchJob(options));
  const job: JobRef = { kind, namespace, name, uid };
  created.push(job);
  return job;
}

const requestFor = (job: JobRef, more: Partial<CheckpointRequest> = {}): CheckpointRequest => ({
  incident,
  job,
  atLeast: 1200,
  withinMs: 600_000,
  ...more,
});

const begin = (taskQueue: string, request: CheckpointRequest) =>
  cluster.client.activity.start<CheckpointResult>('awaitCheckpoint', {
    id: `checkpoint-${randomUUID()}`,
    taskQueue,
    args: [request],
    startToCloseTimeout: '120s',
    heartbeatTimeout: '10s',
    retry: { initialInterval: '200ms' },
  });

/** Whether a worker runs the activity: it has sent a heartbeat. */
const hasStarted = (handle: Awaited<ReturnType<typeof begin>>) =>
  eventually(
    () => handle.describe(),
    (seen) => seen.lastHeartbeatTime !== undefined,
  );

describe('a checkpoint that is waited for', () => {
  it('is one of the step or a later one, also when kcover has suspended the job meanwhile', async () => {
    const job = await training();
    await says(job, 1150, 1100);
    const handle = await begin(cluster.taskQueue, requestFor(job));
    await hasStarted(handle);
    await patchJob(job, {
      metadata: { annotations: { [annotations.suspendedBy]: suspensionId(incident, 1) } },
      spec: { runPolicy: { suspend: true } },
    });
    await says(job, 1199, 1199);
    await says(job, 1205, 1204);
    expect(await handle.result()).toMatchObject({ kind: 'saved', checkpointStep: 1204, waitedMs: expect.any(Number) });
  });

  it('is missed at the deadline, and before when no step is made any more', async () => {
    const job = await training();
    await says(job, 1150, 1100);
    expect(await cluster.run('awaitCheckpoint', requestFor(job, { withinMs: 1000 }))).toMatchObject({
      kind: 'missed',
      because: 'no checkpoint of step 1200 or later within 1s; the last checkpoint is of step 1100',
    });
    expect(await cluster.run('awaitCheckpoint', requestFor(job, { stallMs: 1000 }))).toMatchObject({
      kind: 'missed',
      because: expect.stringMatching(/^no step for 1s after step 1150/),
    });
  });

  it('is not waited for when the owner has suspended the job, or it is gone', async () => {
    const job = await training();
    await patchJob(job, { spec: { runPolicy: { suspend: true } } });
    expect(await cluster.run('awaitCheckpoint', requestFor(job))).toEqual({
      kind: 'ended',
      outcome: 'cancelled',
      because: 'the job is suspended by its owner',
    });
    await remove(job);
    expect(await cluster.run('awaitCheckpoint', requestFor(job))).toEqual({
      kind: 'ended',
      outcome: 'cancelled',
      because: 'the job is gone',
    });
  });

  it('is found by another worker that comes after the deadline, because it looks before the deadline counts', async () => {
    const job = await training();
    const first = await liveCluster({ taskQueue: `checkpoint-${randomUUID()}` });
    const withinMs = 15_000;
    const startedAt = Date.now();
    const handle = await begin(first.taskQueue, requestFor(job, { withinMs }));
    await hasStarted(handle);
    await first.close();
    await new Promise((resolve) => setTimeout(resolve, startedAt + withinMs + 1000 - Date.now()));
    const second = await liveCluster({ taskQueue: first.taskQueue });
    try {
      await says(job, 1200, 1200);
      expect(await handle.result()).toMatchObject({ kind: 'saved', checkpointStep: 1200 });
    } finally {
      await second.close();
    }
  });
});

describe('processes that are asked to restart training', () => {
  it('find the incident and the attempt on their job', async () => {
    const job = await training();
    const question = { reason: 'exit code 1', askedAt: '2026-11-21T07:09:03Z', deadline: '2026-11-21T07:11:03Z' };
    await cluster.run('askProcesses', { incident, job, attempt: 2, ...question });
    const object = await readObject(cluster.kube, jobPath(job), 'read the job');
    expect(object?.metadata?.annotations?.['kcover.io/restart-in-process']).toBe(`${incident}#2`);
    expect(JSON.parse(object?.metadata?.annotations?.['kcover.io/restart-asked'] ?? '')).toEqual({
      id: `${incident}#2`,
      ...question,
    });
    await cluster.run('askProcesses', { incident, job: { ...job, uid: 'another' }, attempt: 3, ...question });
  });
});
