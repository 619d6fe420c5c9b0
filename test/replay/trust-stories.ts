/** Stories of what comes before and after a stop. */

import type { WorkflowHandle } from '@temporalio/client';
import type { JobWishes } from '../../contract/job-wishes.ts';
import { kernelFault, podFault, settings } from '../support/builders.ts';
import { gone, outcome, recoveryIs, statusOf, tell, train, watch, wish } from './acts.ts';
import type { Scene, Story } from './story.ts';

export const trustStories: readonly Story[] = [
  async (scene) => {
    careful(scene, {}, { approval: { degrading: 1 } });
    const job = await watch(scene);
    await degrade(scene, job);
    await recoveryIs(scene, job, 'waiting for approval');
    await recovery(scene, (await statusOf(job)).incident, 'approve');
    const incident = await outcome(job, 'recovered');
    return { 'recovery/approved-checkpoint-awaited-recovered': incident, 'trainingJob/approved-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    careful(scene, {}, { approval: { degrading: 1 } });
    const job = await watch(scene);
    await degrade(scene, job);
    await recoveryIs(scene, job, 'waiting for approval');
    await recovery(scene, (await statusOf(job)).incident, 'deny');
    const incident = await outcome(job, 'refused');
    return { 'recovery/denied': incident, 'trainingJob/denied-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    careful(scene, { checkpoint: 'dying-gasp', capacity: 'shrink', minReplicas: 2 });
    scene.cluster.room = { fit: 3 };
    const job = await watch(scene);
    await degrade(scene, job);
    const incident = await outcome(job, 'recovered');
    return { 'recovery/dying-gasp-and-smaller': incident, 'trainingJob/smaller-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    careful(scene, {}, { checkpoint: { strategy: 'none' }, capacity: { short: 'spare' } });
    scene.cluster.room = { fit: 3 };
    const job = await watch(scene);
    await degrade(scene, job);
    await recoveryIs(scene, job, 'held');
    scene.cluster.room = { fit: 3, fitWithSpares: 4, spares: ['gpu-9'] };
    await job.executeUpdate('pause', { args: [wish] });
    await job.executeUpdate('resume', { args: [wish] });
    const incident = await outcome(job, 'recovered');
    return { 'recovery/held-for-room-paused-spare-taken': incident, 'trainingJob/paused-and-resumed': await gone(scene, job) };
  },
  async (scene) => {
    careful(scene, { level: 'process', mode: 'force' });
    scene.cluster.verified = (beyond) =>
      scene.cluster.stopped.length < 2
        ? { kind: 'unverified', because: 'no step' }
        : { kind: 'verified', progress: { step: beyond + 1, at: new Date().toISOString() }, because: 'it moves' };
    const job = await watch(scene);
    await crash(scene, job);
    const incident = await outcome(job, 'recovered');
    return { 'recovery/process-then-pod-then-job-by-force': incident, 'trainingJob/levels-then-gone': await gone(scene, job) };
  },
  async (scene) => {
    careful(scene, {});
    scene.cluster.lingers = true;
    const job = await watch(scene);
    await crash(scene, job);
    const incident = await outcome(job, 'recovered');
    return { 'recovery/overtime-then-force': incident, 'trainingJob/overtime-then-gone': await gone(scene, job) };
  },
];

function careful(scene: Scene, wishes: Partial<JobWishes>, recovery: object = {}): void {
  scene.cluster.settings = settings({ mode: 'act', recovery: { correlation: '1ms', ...recovery } });
  train(scene, 1290, { checkpointStep: 1200, pace: { msPerStep: 6000, stepsPerCheckpoint: 100 } });
  if (scene.cluster.view) scene.cluster.view = { ...scene.cluster.view, gpus: 32, wishes: { ignored: [], ...wishes } };
}

const degrade = ({ cluster }: Scene, job: WorkflowHandle) => tell(job, cluster.quarantined(kernelFault({ code: 'xid/63', action: 'reset-gpu' })));

async function crash({ cluster }: Scene, job: WorkflowHandle): Promise<void> {
  const { name = '', uid = '' } = cluster.pods[2] ?? {};
  const at = new Date().toISOString();
  await tell(job, podFault({ seenAt: at, pod: { name, uid, createdAt: at } }));
}

const recovery = ({ rig }: Scene, incident: string | undefined, answer: 'approve' | 'deny') =>
  rig.client.workflow.getHandle(incident ?? '').executeUpdate(answer, { args: [wish] });
