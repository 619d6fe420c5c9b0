import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { attachTestCluster } from '../../testbed/attach.ts';
import { podsOf } from '../../testbed/jobs.ts';
import { startSilentTrainer } from '../../testbed/silent-trainer.ts';
import { awaitProgress, shortReports } from '../../testbed/trainer.ts';
import { LiveKcover } from '../support/live-kcover.ts';
import { testServers } from '../support/rig.ts';

let live: LiveKcover;

beforeAll(async () => {
  const { workflowBundle } = testServers();
  live = await LiveKcover.start(attachTestCluster(process.env['KCOVER_TEST_CLUSTER'] ?? ''), {
    workflowBundle,
    agentSettings: { heartbeat: '1s' },
    controllerSettings: { progress: { ...shortReports.controllerSettings.progress, slow: { times: 2, for: '5s' } } },
  });
});
afterEach(() => live?.clear(), 120_000);
afterAll(() => live?.close(), 120_000);

const [usual, slow] = [400, 2000];

describe('training that becomes slower', () => {
  it('is reported once with the command that tests its nodes, shown while it lasts, and left alone', async () => {
    const job = await live.pytorch();
    const uids = async () => (await podsOf(live.cluster.api, job)).map(({ metadata }) => metadata?.uid);
    const before = await uids();
    const trainer = startSilentTrainer(live.cluster, job, { msPerStep: usual, stepsPerCheckpoint: 1000, from: 100 });
    await awaitProgress(live.cluster.api, job, ({ step }) => step > 180, 120_000);

    trainer.pace(slow);
    const { message } = await live.event(job, 'TrainingSlow');
    expect(message).toContain(`kcover recover pytorchjob/${job.name} -n ${job.namespace}`);
    await awaitProgress(live.cluster.api, job, ({ pace }) => pace?.slow);
    const { stdout } = await live.runCli('status', `pytorchjob/${job.name}`, '-n', job.namespace);
    expect(stdout).toMatch(/slow since .* a step, .* at best in this attempt/);

    trainer.pace(usual);
    await awaitProgress(live.cluster.api, job, ({ pace }) => pace?.slow === undefined);
    await trainer.stop();
    expect((await live.events(job)).filter(({ reason }) => reason === 'TrainingSlow')).toHaveLength(1);
    expect(live.records(job)).toEqual([]);
    expect(await uids()).toEqual(before);
  }, 240_000);
});
