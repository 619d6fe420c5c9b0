/** The controller has the permissions of an installation, so that a missing one fails here. */

import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { type RunningAgent, startAgent } from '../../agent/index.ts';
import { jobWorkflowId, labels } from '../../contract/ids.ts';
import type { JobKind, JobRef } from '../../contract/job/jobs.ts';
import { type JobProgress, progressDirectory } from '../../contract/progress/progress.ts';
import { trainerStatusAudience, trainerStatusPath } from '../../contract/progress/trainer-status.ts';
import { agentSettings } from '../../contract/settings/settings.schema.ts';
import { connectKube, type Kube } from '../../kube/client/connection.ts';
import { readJob, writeProgress } from '../../kube/jobs/jobs.ts';
import { ownNamespace } from '../../kube/permissions.ts';
import { type AttachedTestCluster, attachTestCluster } from '../../testbed/attach.ts';
import { pytorchJob } from '../../testbed/job-manifests.ts';
import { kindsHere as kinds, manifestOf } from '../../testbed/set-manifests.ts';
import { awaitRunning, changeJob, createJob, placeOf, type RunningJob } from '../../testbed/jobs.ts';
import { podToken } from '../../testbed/tokens.ts';
import { until } from '../../testbed/until.ts';
import { LiveController, run } from './live-controller.ts';

const taint = { key: 'kcover.io/quarantine', effect: 'NoSchedule' } as const;

let cluster: AttachedTestCluster;
let kube: Kube;
let rig: LiveController;
let agent: RunningAgent;
let hostRoot: string;
let node: string;
const created: RunningJob[] = [];

beforeAll(async () => {
  cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  const kubeconfig = await cluster.kubernetes.kubeconfigFor({ namespace: ownNamespace, name: 'kcover-controller' });
  kube = connectKube({ kubeconfig });
  rig = await LiveController.open({
    kubeconfig,
    election: { enabled: false },
    progress: { hang: { times: 1, least: '1s' } },
  });
  node = (await rig.agentOf(0)).node;
  hostRoot = await mkdtemp(join(tmpdir(), 'kcover-progress-'));
  const tokenFile = join(hostRoot, 'token');
  await writeFile(tokenFile, await rig.tokenOf(0));
  const settings = agentSettings.parse({
    controller: { url: `https://127.0.0.1:${rig.controller.address.port}`, caFile: rig.certificateFile, tokenFile },
    progress: { every: '200ms' },
    spool: { directory: join(hostRoot, 'spool') },
  });
  agent = await startAgent({
    settings,
    node,
    hostRoot,
    version: '0.1.0',
    log: pino({ level: process.env['KCOVER_TEST_LOG'] ?? 'silent' }),
  });
});
afterAll(async () => {
  await agent?.stop();
  await Promise.all(
    created.map((job) =>
      rig.api.custom
        .deleteNamespacedCustomObject({ ...placeOf(job), propagationPolicy: 'Background' })
        .catch(() => undefined),
    ),
  );
  await rig?.close();
  await kube?.close();
  await rm(hostRoot, { recursive: true, force: true });
});

async function create(manifest: Parameters<typeof createJob>[1]): Promise<RunningJob> {
  const job = await createJob(rig.api, manifest);
  created.push(job);
  return job;
}

/** As a trainer writes it. */
async function write(job: RunningJob, rank: number, progress: object, writtenAt = new Date()): Promise<void> {
  const directory = join(hostRoot, progressDirectory, job.namespace);
  await mkdir(directory, { recursive: true });
  const file = join(directory, `${job.name}-${rank}.json`);
  await writeFile(`${file}.part`, JSON.stringify({ at: writtenAt.toISOString(), ...progress }));
  await utimes(`${file}.part`, writtenAt, writtenAt);
  await rename(`${file}.part`, file);
}

const optIn = { [labels.cascadingRecovery]: 'true' };
const refOf = ({ kind, namespace, name, uid }: RunningJob): JobRef => ({ kind, namespace, name, uid });
const seen = async (job: RunningJob): Promise<JobProgress | undefined> =>
  (await readJob(kube, refOf(job), taint))?.progress;

const says = (job: RunningJob, step: number): Promise<JobProgress> =>
  until(`${job.name} says step ${step}`, 60_000, async () => {
    const progress = await seen(job);
    if (progress?.step === step) return { found: progress };
    const [files, writes] = await Promise.all(
      ['files', 'writes'].map((what) => rig.metrics.getSingleMetricAsString(`kcover_progress_${what}_total`)),
    );
    return {
      missing: `it says ${JSON.stringify(progress)}; the agent ${JSON.stringify(agent.status().progress)}; ${files}; ${writes}`,
    };
  });

describe('the status that a trainer reports over HTTP', () => {
  it('ends as annotations of its job, and counts for no other', async () => {
    const job = await create(pytorchJob({ name: `http-${run}`, workers: 1, gpus: 0, labels: optIn }));
    const [first] = await awaitRunning(rig.api, job);
    const { namespace = '', name = '', uid = '' } = first?.metadata ?? {};
    const token = await podToken(rig.api, { namespace, name, uid }, 'default', trainerStatusAudience);
    const send = (step: number, bearer: string) => {
      const metrics = [{ name: 'current_step', value: String(step) }];
      return rig.post({ trainerStatus: { metrics } }, bearer, rig.controller, trainerStatusPath);
    };
    await until('the step counts', 60_000, async () => {
      const answer = await send(120, token);
      return isDeepStrictEqual(answer, { status: 200, body: { counted: true } })
        ? { found: true }
        : { missing: JSON.stringify(answer) };
    });
    expect(await says(job, 120)).toMatchObject({ pod: uid });
    const other = await podToken(rig.api, { namespace, name, uid }, 'default', 'https://kubernetes.default.svc');
    expect(await send(130, other)).toMatchObject({ status: 401 });
    expect(await send(130, await rig.tokenOf(0))).toMatchObject({ status: 401 });
  });
});

describe('progress files of trainers', () => {
  it('do not change a job that did not opt in, until it does', async () => {
    const job = await create(
      pytorchJob({ name: `other-${run}`, workers: 0, gpus: 0, nodeSelector: { 'kubernetes.io/hostname': node } }),
    );
    await awaitRunning(rig.api, job);
    const counted = async () =>
      Number(
        /answer="counted"} (\d+)/.exec(await rig.metrics.getSingleMetricAsString('kcover_progress_files_total'))?.[1] ??
          0,
      );
    const before = await counted();
    await write(job, 0, { step: 70 });
    await until('the file is counted', 60_000, async () =>
      (await counted()) > before ? { found: true } : { missing: 'not yet' },
    );
    await changeJob(rig.api, job, { metadata: { labels: { touched: 'by-its-owner' } } });
    expect(await seen(job)).toBeUndefined();
    await changeJob(rig.api, job, { metadata: { labels: optIn } });
    await says(job, 70);
  });

  it('end as annotations of their job, attempt after attempt', async () => {
    const job = await create(
      pytorchJob({
        name: `llm-${run}`,
        workers: 1,
        gpus: 0,
        nodeSelector: { 'kubernetes.io/hostname': node },
        labels: optIn,
      }),
    );
    const first = await awaitRunning(rig.api, job);
    await write(job, 1, { step: 40 }, new Date(Date.now() - 3600_000));
    await write(job, 0, { step: 50, checkpointStep: 45 });
    expect(await says(job, 50)).toMatchObject({ checkpointStep: 45 });

    await changeJob(rig.api, job, { spec: { runPolicy: { suspend: true } } });
    await until('its pods are gone', 60_000, async () => {
      const { items } = await rig.api.core.listNamespacedPod({ namespace: job.namespace, labelSelector: job.selector });
      return items.length === 0 ? { found: true } : { missing: `${items.length} left` };
    });
    // Written while its pod ended, and read after that.
    await write(job, 0, { step: 55, checkpointStep: 55 });
    expect(await says(job, 55)).toMatchObject({ checkpointStep: 55 });
    // Container times are whole seconds: in practice no attempt follows another that soon.
    await sleep(3000);
    await changeJob(rig.api, job, { spec: { runPolicy: { suspend: false } } });
    await awaitRunning(rig.api, job, { except: new Set(first.map(({ metadata }) => metadata?.uid ?? '')) });
    await write(job, 1, { step: 46 });
    expect(await says(job, 46)).not.toHaveProperty('checkpointStep');
    expect(await rig.metrics.getSingleMetricAsString('kcover_progress_files_total')).toMatch(/answer="(stale|no-pod)"/);
  });
});

describe('training that stands still', () => {
  it('is reported to the workflow of its job, with the pace from its annotations', async () => {
    const job = await create(
      pytorchJob({
        name: `hangs-${run}`,
        workers: 1,
        gpus: 0,
        nodeSelector: { 'kubernetes.io/hostname': node },
        labels: optIn,
      }),
    );
    await awaitRunning(rig.api, job);
    await write(job, 0, { step: 100, phase: 'training' });
    await says(job, 100);
    await write(job, 0, { step: 100_100, phase: 'evaluating' });
    expect(await says(job, 100_100)).toMatchObject({ phase: 'evaluating', pace: { msPerStep: expect.any(Number) } });
    await write(job, 0, { step: 100_100, phase: 'training' });
    await rig.awaitSignal(jobWorkflowId(job), new RegExp(`^hang/${job.uid}/.+/100100/`));
  });
});

describe('the right of the controller to patch jobs', () => {
  const manifest = (kind: JobKind) =>
    manifestOf(kind, { name: `progress-${kind.toLowerCase()}-${run}`, gpus: 0, suspend: true });

  it.each(kinds)(
    'is enough to write the progress of a %s, and of no other UID',
    async (kind) => {
      const job = await create(manifest(kind));
      const at = '2026-11-21T07:00:00.250Z';
      expect(await writeProgress(kube, refOf(job), { step: 7, checkpointStep: 5, at })).toBe(true);
      expect(await seen(job)).toEqual({ step: 7, checkpointStep: 5, at });
      expect(await writeProgress(kube, refOf(job), { step: 8, at })).toBe(true);
      expect(await seen(job)).toEqual({ step: 8, at });
      expect(await writeProgress(kube, { ...refOf(job), uid: 'another' }, { step: 9, at })).toBe(false);
      expect(await writeProgress(kube, { ...refOf(job), name: 'nobody' }, { step: 9, at })).toBe(false);
      expect(await seen(job)).toEqual({ step: 8, at });
    },
    60_000,
  );
});
