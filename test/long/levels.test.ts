import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { V1Pod } from '@kubernetes/client-node';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { overrideAnnotations } from '../../contract/job/job-overrides.ts';
import { restartPath, type RestartPoll } from '../../contract/progress/restart.ts';
import { trainerStatusAudience } from '../../contract/progress/trainer-status.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import { podsOf } from '../../testbed/jobs.ts';
import { podToken } from '../../testbed/tokens.ts';
import { awaitProgress, shortReports } from '../../testbed/trainer.ts';
import { until } from '../../testbed/until.ts';
import { type ScriptedTrainer, startScriptedTrainer } from '../kill/scripted-trainer.ts';
import { degrading } from '../kill/slow-paths.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, LiveKcover, quick } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;
const trainers: ScriptedTrainer[] = [];

/** Verification that does not succeed is given up after seconds. */
const workerSettings = {
  ...quick,
  recovery: {
    ...quick.recovery,
    levels: { process: '30s', pod: '30s' },
    verify: { first: '10s', stall: '10s', most: '2m' },
  },
};

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    ...shortReports,
    workerSettings,
  });
});
afterEach(async () => {
  for (const trainer of trainers.splice(0)) trainer.stop();
  await live?.clear();
}, 120_000);
afterAll(() => live?.close(), 120_000);

/** Trains until the test is over; resolves when the job reports progress. */
async function trains(job: LiveJob, { savesAtEnd = false } = {}): Promise<ScriptedTrainer> {
  const trainer = startScriptedTrainer(live, job, { savesAtEnd });
  trainers.push(trainer);
  await awaitProgress(live.cluster.api, job, ({ pace }) => pace?.stepsPerCheckpoint !== undefined);
  return trainer;
}

/** The container of its last pod fails, and its kubelet restarts it. */
async function crash(job: LiveJob): Promise<void> {
  const pod = (await podsOf(live.cluster.api, job)).at(-1);
  if (!pod) throw new Error(`${job.name} has no pod`);
  await failContainer(live.cluster.api, pod, { exitCode: 1, restart: true });
}

const byRank = (a: V1Pod, b: V1Pod): number => (a.metadata?.name ?? '').localeCompare(b.metadata?.name ?? '');

/** As a process in the pod asks, or answers. */
async function askKcover(pod: V1Pod | undefined, answer?: object): Promise<RestartPoll & { recorded?: boolean }> {
  const { namespace = '', name = '', uid = '' } = pod?.metadata ?? {};
  const token = await podToken(live.cluster.api, { namespace, name, uid }, 'default', trainerStatusAudience);
  const dispatcher = new Agent({ connect: { ca: await readFile(live.kcover.authority) } });
  try {
    const { body } = await request(live.kcover.intakeUrl + restartPath, {
      dispatcher,
      method: answer ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, ...(answer && { 'content-type': 'application/json' }) },
      ...(answer && { body: JSON.stringify(answer) }),
    });
    return (await body.json()) as RestartPoll & { recorded?: boolean };
  } finally {
    await dispatcher.close();
  }
}

const uids = async (job: LiveJob): Promise<string[]> =>
  (await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid ?? '');

describe('a job whose processes can recover by themselves', () => {
  it('is recovered without a stop when they do', async () => {
    const job = await live.pytorch({ annotations: { [overrideAnnotations.level]: 'process' } });
    await trains(job);
    const before = await uids(job);
    await crash(job);
    const [record] = await live.settled(job);
    expect(record).toMatchObject({ outcome: 'recovered', stops: [] });
    expect(record?.timeline.filter(({ what }) => what === 'asked the processes')).toHaveLength(1);
    expect(await uids(job)).toEqual(before);
  });
});

describe('a job with a process that cannot recover by itself', () => {
  it('has its broken pod restarted as soon as that process refuses over HTTP', async () => {
    const job = await live.pytorch({ annotations: { [overrideAnnotations.level]: 'process' } });
    const trainer = await trains(job);
    const [first, second] = (await podsOf(live.cluster.api, job)).toSorted(byRank);
    trainer.stop();
    await crash(job);
    const question = await until('the question to both pods', 60_000, async () => {
      const polls = await Promise.all([askKcover(first), askKcover(second)]);
      const ids = polls.map(({ recover }) => recover?.id);
      return ids[0] !== undefined && ids[0] === ids[1]
        ? { found: { id: ids[0], ...polls[0]?.recover } }
        : { missing: JSON.stringify(polls) };
    });
    expect(question.reason).toContain('exit code 1');
    const { id, deadline } = question;
    expect(await askKcover(first, { id, status: 'accepted' })).toEqual({ recorded: true });
    const because = 'its device\n is gone';
    expect(await askKcover(second, { id, status: 'refused', because })).toEqual({ recorded: true });
    await until('another pod for the broken one', 60_000, async () => {
      const now = await uids(job);
      return now.length === 2 && !now.includes(second?.metadata?.uid ?? '') ? { found: now } : { missing: now.join() };
    });
    trainers.push(startScriptedTrainer(live, job, { savesAtEnd: false }));
    const [record] = await live.settled(job, { withinMs: 240_000 });
    expect(record).toMatchObject({ outcome: 'recovered', stops: [{ by: 'pods', pods: [{}] }] });
    const answered = record?.timeline.find(({ what }) => what === 'the processes answered');
    expect(answered?.because).toBe('rank 1 refused: its device is gone');
    expect(Date.parse(answered?.at ?? '')).toBeLessThan(Date.parse(deadline ?? ''));
  });
});

describe('a job that has its broken pod restarted alone', () => {
  it('is restarted as a whole when that does not bring training back in time', async () => {
    const job = await live.pytorch({ annotations: { [overrideAnnotations.level]: 'pod' } });
    const trainer = await trains(job);
    // Training stops from here on until the whole job is restarted.
    trainer.stop();
    await crash(job);
    await live.recorder.seen(`suspend of ${job.name}`, 120_000, () => live.recorder.isSuspended(job));
    trainers.push(startScriptedTrainer(live, job, { savesAtEnd: false }));
    const [record] = await live.settled(job, { withinMs: 240_000 });
    expect(record?.stops.map(({ by, pods }) => [by, pods.length])).toEqual([
      ['pods', 1],
      ['suspend', 2],
    ]);
    expect(record?.outcome).toBe('recovered');
    expect(violations(await live.facts(job))).toEqual([]);
  });
});

describe('a job that saves on SIGTERM', () => {
  it('has its final checkpoint awaited, and continues from it', async () => {
    const job = await live.pytorch({
      annotations: { [overrideAnnotations.checkpoint]: 'on-termination' },
      terminationSeconds: 8,
    });
    await trains(job, { savesAtEnd: true });
    const node = job.nodes.at(-1);
    if (!node) throw new Error(`${job.name} runs nowhere`);
    await breakGpu(node, degrading);
    const [record] = await live.settled(job);
    expect(record).toMatchObject({
      outcome: 'recovered',
      checkpoints: [{ kind: 'saved', attempt: 1 }],
      stops: [{ by: 'suspend' }],
    });
    const { before, after } = record?.progress ?? {};
    expect(after?.step).toBeGreaterThan(before?.step ?? Infinity);
  });
});

describe('a job whose own code fails again', () => {
  it('is refused when its budget is used up, and left alone until a person asks', async () => {
    const job = await live.pytorch({ annotations: { [overrideAnnotations.retries]: '1' } });
    await crash(job);
    expect(await live.settled(job)).toMatchObject([{ outcome: 'restarted' }]);
    const second = await uids(job);
    const since = new Date();
    await crash(job);
    await until(`${job.name} refused`, 60_000, async () => {
      const { phase, because } = await live.status(job);
      return phase === 'refused' && because.includes('ended with exit code 1')
        ? { found: because }
        : { missing: `${phase}: ${because}` };
    });
    const { stdout } = await live.runCli('status', `pytorchjob/${job.name}`, '-n', job.namespace);
    expect(stdout).toContain('refused');
    expect(await uids(job)).toEqual(second);
    expect((await live.writes(since)).filter(({ namespace }) => namespace === job.namespace)).toEqual([]);
    expect(
      (await live.runCli('recover', `pytorchjob/${job.name}`, '-n', job.namespace, '--reason', 'the bug is found'))
        .code,
    ).toBe(0);
    const records = await live.settled(job, { incidents: 2 });
    expect(records[1]).toMatchObject({ outcome: 'restarted', stops: [{ by: 'suspend' }] });
  });
});
