/** A GPU degrades under a job that tells of its progress: a person is asked, a checkpoint awaited, room looked for, and training proved. */

import { setTimeout as sleep } from 'node:timers/promises';
import { updates } from '../../contract/messages.ts';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import { awaitProgress } from '../../testbed/trainer.ts';
import type { LiveJob, LiveKcover } from '../support/live-kcover.ts';
import { wrongCourse } from './careful-end.ts';
import { type Onlooker, watchSteps } from './careful-steps.ts';
import { type CarefulTrainer, trainCarefully } from './careful-trainer.ts';
import { type CarefulStep, type Course, courseOf, degrading } from './courses.ts';
import { newJob } from './new-job.ts';
import type { Selector } from './pools.ts';
import { allReady, killAndStart, processOf, type Stage, surely } from './processes.ts';
import { quarantinesOf } from './quarantines.ts';
import { clearPool, standBy } from './stand-by.ts';
import { type Acted, type Kill, type Telling } from './story.ts';

/** Its nodes are its own, so it needs no turn; what it kills the others must bear. */
export async function actCarefully({ stage, plan, begun, died }: Telling, course: Course, nodeSelector: Selector): Promise<Acted> {
  const { live } = stage;
  const { steps, workers, options, podsAfter } = courseOf(course);
  const kept = await surely('a pool', () => clearPool(live.world.api, nodeSelector, { keepsOne: steps.includes('taking stand-by nodes') }));
  const created = await newJob(live, { ...options, workers, nodeSelector });
  begun(created);
  const trainer = trainCarefully(live, created, { savesAtEnd: steps.includes('dying gasp') });
  try {
    // The choice of the checkpoint needs to know how far apart the last ones were.
    await surely(`pace of ${created.name}`, () => awaitProgress(live.world.api, created, ({ pace }) => pace?.stepsPerCheckpoint !== undefined));
    await surely('all servers', () => allReady(stage));
    const job = await live.standing(created);
    begun(job);
    const acted = await degradeAndKill({ stage, job, trainer, kept, kills: plan.kills, died }, course, () => stage.proxy?.setWeather(plan.weather ?? {}));
    return { ...acted, job: { ...job, pods: podsAfter }, wrongEnd: () => wrongCourse(stage, job, course), over: trainer.stop };
  } catch (error) {
    trainer.stop();
    throw error;
  }
}

interface Degrading {
  readonly stage: Stage;
  readonly job: LiveJob;
  readonly trainer: CarefulTrainer;
  /** A node that takes no pods before it stands by. */
  readonly kept: string | undefined;
  readonly kills: readonly Kill[];
  readonly died: Telling['died'];
}

async function degradeAndKill(
  { stage, job, trainer, kept, kills, died }: Degrading,
  course: Course,
  begin: () => void,
): Promise<Omit<Acted, 'job' | 'wrongEnd'>> {
  const { live } = stage;
  const { steps, answer } = courseOf(course);
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} runs nowhere`);
  const blamesNoNode = steps.includes('asking the processes');
  const before = { incidents: live.records(job).length, quarantines: quarantinesOf(live, node.name) };
  const onlooker = watchSteps(live, job, { course, broken: node, kept });
  if (steps.includes('waiting for a checkpoint')) trainer.holdBack();
  begin();
  const passes = async (step: CarefulStep): Promise<void> => {
    await onlooker.reached(step);
    const here = kills.filter((kill) => kill.step === step);
    // Who tells of the checkpoint, and of the proof, is the agent of rank 0.
    const tells = step === 'asking the processes' || step === 'waiting for a checkpoint' || step === 'dying gasp' || step === 'verifying';
    const dying = here.map(({ victim, pauseMs }) =>
      killAndStart(stage, processOf(stage, victim, (tells && trainer.node) || node), pauseMs, async () =>
        died({ victim, step, seen: onlooker.isPast(step) ? 'after' : 'at' }),
      ),
    );
    if (step === 'waiting for a checkpoint') trainer.save();
    if (step === 'held for room' && kept !== undefined) await surely(`${kept} stands by`, () => standBy(live.world.api, kept));
    await Promise.all(dying);
    if (step === 'waiting for approval' && answer === 'person') await approve(live, onlooker);
  };
  try {
    if (blamesNoNode) await crash(live, job, trainer);
    else await breakGpu(node, degrading);
    await Promise.all(steps.map(passes));
  } finally {
    onlooker.stop();
  }
  return { node: node.name, incidents: before.incidents + 1, quarantines: before.quarantines + (blamesNoNode ? 0 : 1) };
}

/** The container of the last pod dies and is started again, and training stands still: none of its processes hears what it is asked. */
async function crash({ world }: LiveKcover, { name, first }: LiveJob, trainer: CarefulTrainer): Promise<void> {
  const pod = first.at(-1);
  if (!pod) throw new Error(`${name} has no pod`);
  trainer.standStill();
  await surely(`a container of ${name} dies`, () => failContainer(world.api, pod, { exitCode: 1, restart: true }));
}

/** As `kcover approve` does; silence would do it too, so nobody waits for an answer that never comes. */
async function approve({ temporal }: LiveKcover, onlooker: Onlooker): Promise<void> {
  for (let tries = 0; tries < 20 && onlooker.incident !== undefined; tries++) {
    const handle = temporal.workflow.getHandle(onlooker.incident);
    const asked = temporal.withDeadline(Date.now() + 5000, () => handle.executeUpdate(updates.approve, { args: [{ by: 'ada', reason: 'let it go on' }] }));
    const done = await asked.then(
      () => true,
      // Answered before, or no longer asked.
      (error: unknown) => error instanceof Error && error.name === 'WorkflowUpdateFailedError',
    );
    if (done) return;
    await sleep(200);
  }
}
