/** A GPU degrades under a job that reports progress: a person is asked, a checkpoint awaited, capacity looked up, and training verified. */

import { setTimeout as sleep } from 'node:timers/promises';
import { updates } from '../../contract/wire/messages.ts';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import { awaitProgress } from '../../testbed/trainer.ts';
import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';
import { slowPathViolations } from './slow-path-end.ts';
import { type StepObserver, watchSlowPathSteps } from './slow-path-steps.ts';
import { type ScriptedTrainer, startScriptedTrainer } from './scripted-trainer.ts';
import { type SlowPathStep, type SlowPath, slowPathOf, degrading } from './slow-paths.ts';
import { newJob } from './new-job.ts';
import type { Selector } from './pools.ts';
import { allReady, killAndStart, processOf, type KillStage, surely } from './processes.ts';
import { quarantinesOf } from './quarantines.ts';
import { clearPool, makeStandby } from './standby.ts';
import { type Acted, type Kill, type KillContext } from './run-plan.ts';

/** It has its own nodes, so it needs no turn; its kills affect the other scenarios. */
export async function runSlowPath(
  { stage, plan, onCreated, died }: KillContext,
  slowPath: SlowPath,
  nodeSelector: Selector,
): Promise<Acted> {
  const { live } = stage;
  const { steps, workers, options, podsAfter } = slowPathOf(slowPath);
  const kept = await surely('a pool', () =>
    clearPool(live.cluster.api, nodeSelector, { keepsOne: steps.includes('taking standby nodes') }),
  );
  const created = await newJob(live, { ...options, workers, nodeSelector });
  onCreated(created);
  const trainer = startScriptedTrainer(live, created, { savesAtEnd: steps.includes('final checkpoint') });
  try {
    // The choice of the checkpoint needs the interval between the last ones.
    await surely(`pace of ${created.name}`, () =>
      awaitProgress(live.cluster.api, created, ({ pace }) => pace?.stepsPerCheckpoint !== undefined),
    );
    await surely('all servers', () => allReady(stage));
    const job = await live.standing(created);
    onCreated(job);
    const acted = await degradeAndKill({ stage, job, trainer, kept, kills: plan.kills, died }, slowPath, () =>
      stage.proxy?.setFaultProfile(plan.faultProfile ?? {}),
    );
    return {
      ...acted,
      job: { ...job, pods: podsAfter },
      wrongEnd: () => slowPathViolations(stage, job, slowPath),
      over: trainer.stop,
    };
  } catch (error) {
    trainer.stop();
    throw error;
  }
}

interface Degrading {
  readonly stage: KillStage;
  readonly job: LiveJob;
  readonly trainer: ScriptedTrainer;
  /** A node that takes no pods before it becomes a standby node. */
  readonly kept: string | undefined;
  readonly kills: readonly Kill[];
  readonly died: KillContext['died'];
}

async function degradeAndKill(
  { stage, job, trainer, kept, kills, died }: Degrading,
  slowPath: SlowPath,
  begin: () => void,
): Promise<Omit<Acted, 'job' | 'wrongEnd'>> {
  const { live } = stage;
  const { steps, answer } = slowPathOf(slowPath);
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} runs nowhere`);
  const blamesNoNode = steps.includes('asking the processes');
  const before = { incidents: live.records(job).length, quarantines: quarantinesOf(live, node.name) };
  const observer = watchSlowPathSteps(live, job, { slowPath, broken: node, kept });
  if (steps.includes('waiting for a checkpoint')) trainer.withholdCheckpoints();
  begin();
  const passes = async (step: SlowPathStep): Promise<void> => {
    await observer.reached(step);
    const here = kills.filter((kill) => kill.step === step);
    // The agent of rank 0 reports the checkpoint, and the progress for the verification.
    const reportsProgress =
      step === 'asking the processes' ||
      step === 'waiting for a checkpoint' ||
      step === 'final checkpoint' ||
      step === 'verifying';
    const dying = here.map(({ target, pauseMs }) =>
      killAndStart(stage, processOf(stage, target, (reportsProgress && trainer.node) || node), pauseMs, async () =>
        died({ target, step, seen: observer.isPast(step) ? 'after' : 'at' }),
      ),
    );
    if (step === 'waiting for a checkpoint') trainer.save();
    if (step === 'held for capacity' && kept !== undefined)
      await surely(`${kept} is a standby node`, () => makeStandby(live.cluster.api, kept));
    await Promise.all(dying);
    if (step === 'waiting for approval' && answer === 'person') await approve(live, observer);
  };
  try {
    if (blamesNoNode) await crash(live, job, trainer);
    else await breakGpu(node, degrading);
    await Promise.all(steps.map(passes));
  } finally {
    observer.stop();
  }
  return { node: node.name, incidents: before.incidents + 1, quarantines: before.quarantines + (blamesNoNode ? 0 : 1) };
}

/** The container of the last pod fails and is restarted, and training stalls: none of its processes answers the request. */
async function crash({ cluster }: LiveKcover, { name, first }: LiveJob, trainer: ScriptedTrainer): Promise<void> {
  const pod = first.at(-1);
  if (!pod) throw new Error(`${name} has no pod`);
  trainer.stall();
  await surely(`a container of ${name} dies`, () => failContainer(cluster.api, pod, { exitCode: 1, restart: true }));
}

/** As `kcover approve` does; the default after the deadline is to approve, so a lost answer does not block. */
async function approve({ temporal }: LiveKcover, observer: StepObserver): Promise<void> {
  for (let tries = 0; tries < 20 && observer.incident !== undefined; tries++) {
    const handle = temporal.workflow.getHandle(observer.incident);
    const asked = temporal.withDeadline(Date.now() + 5000, () =>
      handle.executeUpdate(updates.approve, { args: [{ by: 'ada', reason: 'let it go on' }] }),
    );
    const done = await asked.then(
      () => true,
      // Answered before, or the question is closed.
      (error: unknown) => error instanceof Error && error.name === 'WorkflowUpdateFailedError',
    );
    if (done) return;
    await sleep(200);
  }
}
