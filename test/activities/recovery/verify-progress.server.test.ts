import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { annotations, labels } from '../../../contract/ids.ts';
import type { JobRef } from '../../../contract/job/jobs.ts';
import type { VerifyRequest, VerifyResult } from '../../../contract/recovery/verification.ts';
import { jobPath } from '../../../kube/jobs/kinds/index.ts';
import { askKube, patchObject } from '../../../kube/client/requests.ts';
import { askRestart, writeRestartAnswers } from '../../../kube/jobs/jobs.ts';
import { pytorchJob } from '../../../testbed/job-manifests.ts';
import { createJob } from '../../../testbed/jobs.ts';
import { eventually } from '../../support/rig.ts';
import { liveCluster, type LiveCluster } from '../live-cluster.ts';

let cluster: LiveCluster;
beforeAll(async () => {
  cluster = await liveCluster();
});
afterAll(async () => {
  await Promise.all(created.map((job) => remove(job).catch(() => undefined)));
  await cluster.close();
});

const created: JobRef[] = [];
const incident = 'recovery/default/x/1/2026-11-21T07:09:03.117Z';
const remove = (job: JobRef) =>
  askKube(
    cluster.kube,
    { method: 'DELETE', path: jobPath(job), query: { propagationPolicy: 'Background' } },
    'tidy up',
  );
const patchJob = (job: JobRef, patch: object) => patchObject(cluster.kube, jobPath(job), patch, 'change the job');
function reports(
  job: JobRef,
  step: number,
  { at = new Date(), pod }: { readonly at?: Date; readonly pod?: string } = {},
) {
  const training = pod === undefined ? null : JSON.stringify({ pod });
  const said = {
    [annotations.step]: String(step),
    [annotations.progressAt]: at.toISOString(),
    [annotations.training]: training,
  };
  return patchJob(job, { metadata: { annotations: said } });
}

async function training(): Promise<JobRef> {
  const name = `verify-${randomUUID().slice(0, 8)}`;
  const running = await createJob(
    cluster.api,
    pytorchJob({ name, workers: 0, gpus: 0, labels: { [labels.cascadingRecovery]: 'true' }, terminationSeconds: 1 }),
  );
  const job: JobRef = { kind: running.kind, namespace: running.namespace, name: running.name, uid: running.uid };
  created.push(job);
  return job;
}

const requestFor = (job: JobRef, more: Partial<VerifyRequest> = {}): VerifyRequest => ({
  incident,
  job,
  // A report that arrives late must not count for the attempt before.
  since: new Date(Date.now() - 60_000).toISOString(),
  beyond: 1200,
  firstMs: 600_000,
  stallMs: 600_000,
  mostMs: 900_000,
  ...more,
});

/** On a task queue of its own, so that its worker can be stopped and started. */
const begin = (taskQueue: string, request: VerifyRequest) =>
  cluster.client.activity.start<VerifyResult>('verifyProgress', {
    id: `verify-${randomUUID()}`,
    taskQueue,
    args: [request],
    startToCloseTimeout: '120s',
    heartbeatTimeout: '10s',
    retry: { initialInterval: '200ms' },
  });

/** Reports step after step until `enough` resolves. */
async function trainUntil<T>(job: JobRef, from: number, enough: Promise<T>): Promise<T> {
  let over = false;
  const ending = () => (over = true);
  enough.then(ending, ending);
  for (let step = from; !over; step++) {
    await reports(job, step);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  return enough;
}

/** Whether a worker runs the activity: it has sent a heartbeat. */
const hasStarted = (handle: Awaited<ReturnType<typeof begin>>) =>
  eventually(
    () => handle.describe(),
    (seen) => seen.lastHeartbeatTime !== undefined,
  );

describe('processes that were asked to restart training', () => {
  it('are not waited for any longer when one of them refuses', async () => {
    const job = await training();
    await reports(job, 1200, { at: new Date(Date.now() - 120_000) });
    const asked = {
      id: `${incident}#1`,
      reason: 'x',
      askedAt: '2026-11-21T07:09:03Z',
      deadline: '2026-11-21T07:11:03Z',
    };
    await askRestart(cluster.kube, job, asked);
    const handle = await begin(cluster.taskQueue, requestFor(job, { asked: asked.id }));
    await hasStarted(handle);
    const refused = { rank: 1, because: 'its device is gone' };
    // An answer to another question changes nothing.
    await writeRestartAnswers(cluster.kube, job, `${incident}#0`, { accepted: [], done: [], refused });
    await writeRestartAnswers(cluster.kube, job, asked.id, { accepted: [0], done: [], refused });
    expect(await handle.result()).toEqual({
      kind: 'unverified',
      because: 'a rank refused',
      answers: 'rank 1 refused: its device is gone',
    });
  });
});

describe('proof that training moves on', () => {
  it('is a step beyond the last before the fault, and neither an old report, nor a lower step, nor the last report of a pod that was stopped', async () => {
    const job = await training();
    await reports(job, 1300, { at: new Date(Date.now() - 3_600_000) });
    const handle = await begin(cluster.taskQueue, requestFor(job, { stopped: ['stopped-pod'] }));
    await hasStarted(handle);
    await reports(job, 1100);
    await reports(job, 1200);
    for (const step of [1300, 1301]) await reports(job, step, { pod: 'stopped-pod' });
    const verified = await trainUntil(job, 1207, handle.result());
    expect(verified).toMatchObject({ kind: 'verified', because: expect.stringMatching(/^step 12\d\d is beyond 1200/) });
    expect(verified.kind === 'verified' && verified.progress.step).toBeGreaterThanOrEqual(1207);
  });

  it('is missing when no step is reported in time', async () => {
    const job = await training();
    expect(await cluster.run('verifyProgress', requestFor(job, { firstMs: 1500 }))).toEqual({
      kind: 'unverified',
      because: 'no progress was reported within 1.5s after all pods ran',
    });
  });

  it('is missing when training makes no progress, with the step that it reached', async () => {
    const job = await training();
    await reports(job, 1150);
    expect(await cluster.run('verifyProgress', requestFor(job, { stallMs: 1000 }))).toMatchObject({
      kind: 'unverified',
      progress: { step: 1150 },
      because: 'no step for 1s after step 1150 of 1200',
    });
  });

  it('is not waited for when the job was opted out, or is gone', async () => {
    const job = await training();
    await patchJob(job, { metadata: { labels: { [labels.cascadingRecovery]: 'false' } } });
    expect(await cluster.run('verifyProgress', requestFor(job))).toMatchObject({
      kind: 'ended',
      outcome: 'cancelled',
      because: 'the job was opted out',
    });
    await remove(job);
    expect(await cluster.run('verifyProgress', requestFor(job))).toMatchObject({
      kind: 'ended',
      outcome: 'cancelled',
      because: 'the job is gone',
    });
  });

  it.each([
    ['is the end of a job that succeeds after its restart', {}, 'recovered'],
    [
      'is nothing where a pod that was deleted may have ended it, and no step was reported since',
      { stoppedBy: 'delete-collection' },
      'escalated',
    ],
  ] as const)('%s', async (_sentence, more, outcome) => {
    const job = await training();
    const handle = await begin(cluster.taskQueue, requestFor(job, more));
    await hasStarted(handle);
    const at = new Date().toISOString();
    const condition = {
      type: 'Succeeded',
      status: 'True',
      reason: 'PyTorchJobSucceeded',
      message: 'a test says so',
      lastTransitionTime: at,
      lastUpdateTime: at,
    };
    await patchObject(cluster.kube, `${jobPath(job)}/status`, { status: { conditions: [condition] } }, 'end the job');
    expect(await handle.result()).toMatchObject({
      kind: 'ended',
      outcome,
      because: expect.stringContaining('a test says so'),
    });
  });

  it('is found by another worker that comes after the deadline, because it looks before the deadline counts', async () => {
    const job = await training();
    const first = await liveCluster({ taskQueue: `verify-${randomUUID()}` });
    const firstMs = 15_000;
    const startedAt = Date.now();
    const handle = await begin(first.taskQueue, requestFor(job, { firstMs, stallMs: 1 }));
    await hasStarted(handle);
    await first.close();
    await reports(job, 1201);
    await new Promise((resolve) => setTimeout(resolve, startedAt + firstMs + 1000 - Date.now()));
    const second = await liveCluster({ taskQueue: first.taskQueue });
    try {
      expect(await trainUntil(job, 1202, handle.result())).toMatchObject({ kind: 'verified' });
    } finally {
      await second.close();
    }
  });
});
