import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { trainingHangs } from '../../contract/faults/faults.ts';
import { overrideAnnotations } from '../../contract/job/job-overrides.ts';
import { attachTestCluster } from '../../testbed/attach.ts';
import { podsOf } from '../../testbed/jobs.ts';
import { awaitProgress, endsSlowly, shortReports, startTrainer } from '../../testbed/trainer.ts';
import { until } from '../../testbed/until.ts';
import { violations } from '../support/invariants.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

const shortHang = { progress: { ...shortReports.controllerSettings.progress, hang: { times: 5, least: '8s' } } };

beforeAll(async () => {
  const { workflowBundle } = testServers();
  const cluster = attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? '');
  live = await LiveKcover.start(cluster, {
    workflowBundle,
    agentSettings: shortReports.agentSettings,
    controllerSettings: shortHang,
  });
});
afterEach(() => live?.clear(), 120_000);
afterAll(() => live?.close(), 120_000);

const trains = { msPerStep: 500, stepsPerCheckpoint: 10, from: 100 };

describe('training that stalls', () => {
  it('is reported to people, and nothing is done about it by default', async () => {
    const job = await live.pytorch();
    const before = (await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid);
    const trainer = startTrainer(live.cluster, job, trains);
    await awaitProgress(live.cluster.api, job, ({ step, pace }) => pace !== undefined && step > 103);
    await trainer.stop();
    await live.event(job, 'TrainingHangs', /hang: notify/);
    expect(live.records(job)).toEqual([]);
    expect((await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid)).toEqual(before);
  });

  it('is restarted when the job requests it, and verified to make progress', async () => {
    const job = await live.pytorch({ annotations: { [overrideAnnotations.hang]: 'recover' }, ...endsSlowly });
    const first = startTrainer(live.cluster, job, trains);
    const { step } = await awaitProgress(
      live.cluster.api,
      job,
      (progress) => progress.pace !== undefined && progress.step > 103 && progress,
    );
    await first.stop();
    const old = new Set((await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid));
    await until(`new pods of ${job.name}`, 120_000, async () => {
      const pods = await podsOf(live.cluster.api, job);
      return pods.length === job.pods && pods.every(({ metadata }) => !old.has(metadata?.uid))
        ? { found: true }
        : { missing: `${pods.length} pods` };
    });
    const second = startTrainer(live.cluster, job, { ...trains, from: first.checkpointStep });
    const [record] = await live.settled(job);
    await second.stop();
    expect(record).toMatchObject({
      outcome: 'recovered',
      faults: [{ code: trainingHangs }],
      stops: [{ by: 'suspend' }],
    });
    expect(record?.progress?.after?.step).toBeGreaterThan(step);
    expect(violations(await live.facts(job))).toEqual([]);
  });
});
