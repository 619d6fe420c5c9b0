/** Progress from the logs that real kubelets and containerd keep. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync } from 'node:fs';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import { Client, Connection } from '@temporalio/client';
import { trainingHangs } from '../../contract/faults/faults.ts';
import { overrideAnnotations } from '../../contract/job/job-overrides.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { podsOf } from '../../testbed/jobs.ts';
import { startKcover } from '../../testbed/roles.ts';
import { startTestCluster, type TestCluster } from '../../testbed/test-cluster.ts';
import { awaitProgress, shortReports } from '../../testbed/trainer.ts';
import { until } from '../../testbed/until.ts';
import { startClusterRecorder } from '../support/cluster-recorder.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, quick } from '../support/live-kcover.ts';
import { say } from './faulty-cluster.ts';
import { followSteps } from './followed-steps.ts';
import { type PrintingTrainer, printingTrainer, watchdogLines } from './printing-trainer.ts';
import { obtainShellImage } from './shell-trainer.ts';
import { noTraces, tracesOf } from './traces.ts';

const token = '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';

let cluster: TestCluster;
let live: LiveKcover;
let image: string;
let checkpoints: string;

beforeAll(async () => {
  const made = await obtainShellImage(say);
  image = made.name;
  cluster = await startTestCluster({
    nodes: 0,
    realNodes: 2,
    initContainerImage: image,
    // The shortest interval that a kubelet takes.
    kubelet: { containerLogMaxSize: '64Ki', containerLogMaxFiles: 3, containerLogMonitorInterval: '3s' },
    onProgress: say,
  });
  await Promise.all(cluster.realNodes.map((node) => node.importImage(made.archive)));
  checkpoints = join(cluster.directory, 'checkpoints');
  mkdirSync(checkpoints);
  const kcover = await startKcover(cluster, {
    agentSettings: { ...shortReports.agentSettings, heartbeat: '1s' },
    controllerSettings: { progress: { ...shortReports.controllerSettings.progress, hang: { times: 5, least: '8s' } } },
    workerSettings: { ...quick, recovery: { ...quick.recovery, hang: { response: 'recover' } } },
    agentsOn: cluster.realNodes,
  });
  const connection = await Connection.connect({ address: cluster.temporal.address });
  const temporal = new Client({ connection, namespace: cluster.temporal.namespace });
  const nodes = cluster.realNodes.map(({ name, hostRoot }) => ({ name, uid: '', hostRoot }));
  const recorder = await startClusterRecorder(cluster.kubernetes.kubeconfig);
  live = new LiveKcover({ ...cluster, nodes }, kcover, temporal, recorder);
}, 1_800_000);
afterAll(async () => {
  await live?.close();
  await cluster?.stop();
  if (cluster) expect(tracesOf(cluster.directory)).toEqual(noTraces);
}, 120_000);

const train = (options: Pick<PrintingTrainer, 'name' | 'pause' | 'annotations'>): Promise<LiveJob> =>
  live.run((namespace) => printingTrainer({ ...options, namespace, image, checkpoints }));

const write = async (file: string, text: string): Promise<void> => {
  await writeFile(join(checkpoints, `${file}.part`), `${text}\n`);
  await rename(join(checkpoints, `${file}.part`), join(checkpoints, file));
};

/** Resolves when the trainer begins to run the command. */
async function order({ name }: Pick<LiveJob, 'name'>, role: 'master' | 'worker', command: string): Promise<void> {
  await write(`${name}-${role}.order`, command);
  await until(`${role} of ${name} obeys`, 30_000, async () =>
    existsSync(join(checkpoints, `${name}-${role}.order`)) ? { missing: 'it does not' } : { found: true },
  );
}

/** The sum over all agents. */
async function measured(metric: string): Promise<number> {
  const texts = await Promise.all([...live.kcover.agents.values()].map((agent) => live.kcover.metricsOf(agent)));
  return texts.reduce((sum, text) => sum + Number(new RegExp(`^${metric} (\\d+)$`, 'm').exec(text)?.[1]), 0);
}

function follow(pod: V1Pod) {
  const node = cluster.realNodes.find(({ name }) => name === pod.spec?.nodeName);
  if (node === undefined) throw new Error(`${pod.metadata?.name} is on no real node`);
  return followSteps(node, pod, 'pytorch');
}

describe('the logs of a job that only prints', () => {
  it('are read whole over rotations by the kubelet, and their steps and checkpoints reach the job', async () => {
    const name = 'llm-rotated';
    await write(`${name}-worker.order`, 'until [ -e $at-go ]; do sleep 0.1; done');
    const job = await train({ name, pause: 0.05 });
    const logs = job.first.map(follow);
    const look = (): Promise<unknown> => Promise.all(logs.map((log) => log.look()));
    await until('both logs are followed', 30_000, async () => {
      await look();
      const followed = await measured('kcover_agent_logs_followed');
      return followed === 2 ? { found: true } : { missing: `${followed} are followed` };
    });
    const before = await measured('kcover_agent_log_lines_total');
    await write(`${name}-go`, '');
    const [, worker] = logs;
    await until('rotations', 60_000, async () => {
      await look();
      const count = worker?.rotated.size ?? 0;
      return count >= 2 ? { found: true } : { missing: `${count} rotations` };
    });
    await order(job, 'worker', 'sleep 3600');
    const step = Number(await readFile(join(checkpoints, `${name}-step`), 'utf8'));
    const steps = worker?.steps ?? [];
    const lines = () => logs.reduce((sum, log) => sum + log.lines, 0);
    await until('as many lines in the agents', 30_000, async () => {
      await look();
      const read = (await measured('kcover_agent_log_lines_total')) - before;
      return read === lines() && steps.at(-1) === step
        ? { found: read }
        : { missing: `they have read ${read} of ${lines()}, up to step ${steps.at(-1)} of ${step}` };
    });
    await Promise.all(logs.map((log) => log.close()));

    expect(steps).toEqual(steps.map((_, at) => 101 + at));
    expect(worker?.parts).toBeGreaterThan(10);
    expect(await measured('kcover_agent_log_skipped_bytes_total')).toBe(0);
    const saved = Math.floor(step / 10) * 10;
    await awaitProgress(cluster.api, job, (progress) => progress.step === step && progress.checkpointStep === saved);
  });
});

describe('of jobs that only print', () => {
  const name = 'llm-hangs';
  let job: LiveJob;
  let known: number;
  let record: IncidentRecord | undefined;

  beforeAll(async () => {
    await write('watchdog', watchdogLines.join('\n'));
    job = await train({ name, pause: 0.2 });
    const { step } = await awaitProgress(
      cluster.api,
      job,
      (progress) => progress.pace !== undefined && (progress.checkpointStep ?? 0) >= 110 && progress,
    );
    known = step;
    await order(job, 'worker', 'sleep 3600');
    await order(job, 'master', `echo HF_TOKEN=${token}; cat /checkpoints/watchdog; sleep 3600`);
  }, 240_000);

  // Meanwhile the hang of the other job becomes known.
  it('one is followed into a container that restarts in its pod', async () => {
    const other = await train({ name: 'llm-restarts', pause: 0.2, annotations: { [overrideAnnotations.mode]: 'off' } });
    await awaitProgress(cluster.api, other, ({ step }) => step > 102 && step < 1000);
    await order(other, 'worker', 'echo 5000 >$at-saved; exit 1');
    const { pod } = await awaitProgress(
      cluster.api,
      other,
      // A checkpoint in the log of the master makes the step as high; a higher one is in that of the worker.
      (progress) => progress.step > 5000 && progress.step > (progress.checkpointStep ?? Infinity) && progress,
    );
    const restarts = (pods: readonly V1Pod[]) =>
      pods.map(({ metadata, status }) => ({
        uid: metadata?.uid,
        restarts: status?.containerStatuses?.[0]?.restartCount,
      }));
    const [master, worker] = other.first.map(({ metadata }) => metadata?.uid);
    expect(restarts(await podsOf(cluster.api, other))).toEqual([
      { uid: master, restarts: 0 },
      { uid: worker, restarts: 1 },
    ]);
    expect(pod).toBe(worker);
  });

  it('one that hangs is found by two witnesses in its logs, restarted, and proven by its log to train again', async () => {
    [record] = await live.settled(job);
    expect(record).toMatchObject({ outcome: 'recovered', stops: [{ attempt: 1, by: 'suspend' }] });
    const hang = record?.faults.find(({ code }) => code === trainingHangs);
    expect(hang?.witnesses?.[0]).toMatch(/^no step for /);
    expect(hang?.witnesses?.[1]).toMatch(/^watchdog of .*: a collective timed out \(rank 0, ALLREDUCE, 20585\)$/);
    expect(hang?.suspects?.map(({ pod }) => pod)).toEqual([`${name}-worker-0`]);
    expect(record?.progress?.before?.step).toBeGreaterThanOrEqual(known);
    expect(record?.progress?.after?.step).toBeGreaterThan(record?.progress?.before?.step ?? Infinity);
    expect(violations(await live.facts(job))).toEqual([]);
  });

  it('one that hangs leaves its logs as evidence, without the secret that it printed', async () => {
    const kept = [];
    for (const { address } of record?.evidence ?? [])
      for (const file of await readdir(address)) kept.push(await readFile(join(address, file), 'utf8'));
    expect(kept.join('\n')).toContain('Watchdog caught collective operation timeout');
    expect(kept.join('\n')).toContain('HF_TOKEN=');
    expect(kept.join('\n')).not.toContain(token);
  });
});
