/** A GPU breaks so that the job is dead at once. */

import { setTimeout as sleep } from 'node:timers/promises';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { type LiveJob, type LiveKcover, xid79 } from '../support/live-kcover.ts';
import { newJob } from './new-job.ts';
import { allReady, killAndStart, processOf, surely } from './processes.ts';
import { quarantinesOf } from './quarantines.ts';
import { watchFastPathSteps, type FastPathStep } from './fast-path-steps.ts';
import { type Acted, type KillContext } from './run-plan.ts';

export const orders = ['Xid before the pod failure', 'Xid after the pod failure'] as const;
export type Order = (typeof orders)[number];

/** Another scenario may break a node of this job just before: one scenario breaks and kills at a time. */
export async function runFastPath({ stage, plan, turn, onCreated, died }: KillContext, order: Order): Promise<Acted> {
  const { live, common } = stage;
  const created = await newJob(live, common ? { nodeSelector: common } : {});
  onCreated(created);
  return turn(async () => {
    await surely('all servers', () => allReady(stage));
    const job = await live.standing(created);
    onCreated(job);
    return breakAndKill({ stage, plan, died }, job, order);
  });
}

async function breakAndKill(
  { stage, plan, died }: Pick<KillContext, 'stage' | 'plan' | 'died'>,
  job: LiveJob,
  order: Order,
): Promise<Acted> {
  const { live, proxy } = stage;
  const { kills, faultProfile } = plan;
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} runs nowhere`);
  const before = { incidents: live.records(job).length, quarantines: quarantinesOf(live, node.name) };
  const watch = await watchFastPathSteps(live, job, node);
  proxy?.setFaultProfile(faultProfile ?? {});
  const seen = kills.map(({ step }) => watch.reached(step as FastPathStep));
  for (const each of seen) each.catch(() => undefined);
  await breakDown(live, job, node, order);
  await Promise.all(
    kills.map(async ({ target, step, pauseMs }, index) => {
      await seen[index];
      const onDeath = async () =>
        died({ target, step, seen: (await watch.isPast(step as FastPathStep)) ? 'after' : 'at' });
      await killAndStart(stage, processOf(stage, target, node), pauseMs, onDeath);
    }),
  );
  return {
    job,
    node: node.name,
    incidents: before.incidents + 1,
    quarantines: before.quarantines + 1,
    wrongEnd: () => wrongEnd(live, job),
  };
}

async function breakDown({ cluster }: LiveKcover, job: LiveJob, node: SimulatedNode, order: Order): Promise<void> {
  const pod = job.first.at(-1);
  if (!pod) throw new Error(`${job.name} has no pod`);
  // As under a kubelet with restart policy OnFailure: the container is restarted in the same pod, whose status keeps reporting the failure.
  const fail = () => failContainer(cluster.api, pod, { exitCode: 1, restart: true });
  if (order === 'Xid after the pod failure') {
    await fail();
    await sleep(50);
    await breakGpu(node, xid79);
    return;
  }
  await breakGpu(node, xid79);
  // When the line alone was enough, the pod is gone before it could fail.
  await fail().catch(() => undefined);
}

function wrongEnd(live: LiveKcover, job: LiveJob): string[] {
  return live
    .records(job)
    .filter(({ outcome }) => outcome !== 'restarted' && outcome !== 'cancelled')
    .map(({ incident, outcome, because }) => `${incident} ended ${outcome}: ${because}`);
}
