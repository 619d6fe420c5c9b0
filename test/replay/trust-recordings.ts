/** Scenarios of what comes before and after a stop. */

import type { WorkflowHandle } from '@temporalio/client';
import type { JobOverrides } from '../../contract/job/job-overrides.ts';
import { kernelFault, podFault, settings } from '../support/builders.ts';
import { gone, outcome, recoveryIs, statusOf, signalFaults, train, watch, request } from './acts.ts';
import type { ReplayFixture, Recording } from './recording.ts';

export const trustRecordings: readonly Recording[] = [
  async (fixture) => {
    setUpTraining(fixture, {}, { approval: { degrading: 1 } });
    const job = await watch(fixture);
    await degrade(fixture, job);
    await recoveryIs(fixture, job, 'waiting for approval');
    await approve(fixture, (await statusOf(job)).incident);
    const incident = await outcome(job, 'recovered');
    await gone(fixture, job);
    return { 'recovery/approved-checkpoint-awaited-recovered': incident };
  },
  async (fixture) => {
    setUpTraining(fixture, { checkpoint: 'on-termination', capacity: 'shrink', minReplicas: 2 });
    fixture.cluster.capacity = { fit: 3 };
    const job = await watch(fixture);
    await degrade(fixture, job);
    const incident = await outcome(job, 'recovered');
    await gone(fixture, job);
    return { 'recovery/final-checkpoint-and-smaller': incident };
  },
  async (fixture) => {
    setUpTraining(fixture, {}, { checkpoint: { strategy: 'none' }, capacity: { short: 'standby' } });
    fixture.cluster.capacity = { fit: 3 };
    const job = await watch(fixture);
    await degrade(fixture, job);
    await recoveryIs(fixture, job, 'held');
    fixture.cluster.capacity = { fit: 3, fitWithStandby: 4, standbyNodes: ['gpu-9'] };
    await job.executeUpdate('pause', { args: [request] });
    await job.executeUpdate('resume', { args: [request] });
    const incident = await outcome(job, 'recovered');
    return {
      'recovery/held-for-capacity-paused-standby-taken': incident,
      'trainingJob/paused-and-resumed': await gone(fixture, job),
    };
  },
  async (fixture) => {
    setUpTraining(fixture, { level: 'process', mode: 'force' });
    fixture.cluster.verified = (beyond) =>
      fixture.cluster.stopped.length < 2
        ? { kind: 'unverified', because: 'no step' }
        : { kind: 'verified', progress: { step: beyond + 1, at: new Date().toISOString() }, because: 'it moves' };
    const job = await watch(fixture);
    await crash(fixture, job);
    const incident = await outcome(job, 'recovered');
    await gone(fixture, job);
    return { 'recovery/process-then-pod-then-job-by-force': incident };
  },
];

function setUpTraining(fixture: ReplayFixture, overrides: Partial<JobOverrides>, recovery: object = {}): void {
  fixture.cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms', ...recovery } });
  train(fixture, 1290, { checkpointStep: 1200, pace: { msPerStep: 6000, stepsPerCheckpoint: 100 } });
  if (fixture.cluster.view)
    fixture.cluster.view = { ...fixture.cluster.view, gpus: 32, overrides: { ignored: [], ...overrides } };
}

const degrade = ({ cluster }: ReplayFixture, job: WorkflowHandle) =>
  signalFaults(job, cluster.quarantined(kernelFault({ code: 'xid/63', action: 'reset-gpu' })));

async function crash({ cluster }: ReplayFixture, job: WorkflowHandle): Promise<void> {
  const { name = '', uid = '' } = cluster.pods[2] ?? {};
  const at = new Date().toISOString();
  await signalFaults(job, podFault({ seenAt: at, pod: { name, uid, createdAt: at } }));
}

const approve = ({ rig }: ReplayFixture, incident: string | undefined) =>
  rig.client.workflow.getHandle(incident ?? '').executeUpdate('approve', { args: [request] });
