import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { noStepInLog, trainingHangs } from '../../contract/faults/faults.ts';
import { overrideAnnotations } from '../../contract/job/job-overrides.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { podsOf } from '../../testbed/jobs.ts';
import { startSilentTrainer, watchdogsReport } from '../../testbed/silent-trainer.ts';
import { awaitProgress, endsSlowly, rankIn, shortReports } from '../../testbed/trainer.ts';
import { violations } from '../support/invariants.ts';
import { LiveKcover, quick } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    agentSettings: { heartbeat: '1s' },
    controllerSettings: { progress: { ...shortReports.controllerSettings.progress, hang: { times: 5, least: '8s' } } },
    workerSettings: { ...quick, recovery: { ...quick.recovery, hang: { response: 'recover' } } },
  });
});
afterEach(() => live?.clear(), 120_000);
afterAll(() => live?.close(), 120_000);

const trains = { msPerStep: 500, stepsPerCheckpoint: 10, from: 100 };
const hanging = 1;

describe('a job that tells kcover nothing', () => {
  it('is found to hang by its logs and its watchdogs, restarted, and verified to train again', async () => {
    const job = await live.pytorch({ workers: 2, ...endsSlowly });
    const before = await podsOf(live.cluster.api, job);
    const missing = before.find((pod) => rankIn(before, pod) === hanging);
    const trainer = startSilentTrainer(live.cluster, job, trains);
    const { step } = await awaitProgress(
      live.cluster.api,
      job,
      (progress) => progress.pace !== undefined && progress.checkpointStep === 110 && progress,
    );
    trainer.stall();
    await live.event(job, 'TrainingHangs', /only its log says so/);
    expect(live.records(job)).toEqual([]);

    await watchdogsReport(live.cluster, job, hanging);
    const [record] = await live.settled(job);
    await trainer.stop();
    expect(record).toMatchObject({ outcome: 'recovered', stops: [{ by: 'suspend' }] });
    const hang = record?.faults.find(({ code }) => code === trainingHangs);
    expect(hang?.witnesses?.[0]).toMatch(/^no step for /);
    const watchdogs = hang?.witnesses?.slice(1) ?? [];
    expect(watchdogs[0]).toMatch(/^watchdog of .*: a collective timed out \(rank \d, ALLREDUCE, 20585\)$/);
    expect(watchdogs.filter((each) => !/^watchdog of .*: a collective timed out/.test(each))).toEqual([]);
    expect(hang?.suspects?.map(({ pod }) => pod)).toEqual([missing?.metadata?.name]);
    expect(record?.faults.map(({ code }) => code)).not.toContain(noStepInLog);
    expect(record?.progress?.before?.step).toBeGreaterThanOrEqual(step);
    expect(record?.progress?.after?.step).toBeGreaterThan(record?.progress?.before?.step ?? Infinity);
    expect(violations(await live.facts(job))).toEqual([]);
  });

  it('is left alone, and without progress, when it wants its logs not to be read', async () => {
    const job = await live.pytorch({ annotations: { [overrideAnnotations.logFormat]: 'off' } });
    const read = await live.pytorch();
    const trainers = [job, read].map((each) => startSilentTrainer(live.cluster, each, trains));
    await awaitProgress(live.cluster.api, read, ({ step }) => step > 105);
    await Promise.all(trainers.map((trainer) => trainer.stop()));
    await expect(awaitProgress(live.cluster.api, job, () => true, 100)).rejects.toThrow('undefined');
  });
});
