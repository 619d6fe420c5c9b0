/** One storm: many fresh jobs, a fault for each at the same moment, and everything that was seen of it. */

import { setTimeout as sleep } from 'node:timers/promises';
import { clusterWorkflowId, quarantineTaintKey } from '../contract/ids.ts';
import { inParallel } from '../kube/parallel.ts';
import { breakGpu, failContainer } from '../testbed/failures.ts';
import type { Server } from '../testbed/servers/server.ts';
import { now } from './clock.ts';
import { cpuBetween, type CpuTimes, cpuTimes } from './cpu.ts';
import { historyLength } from './histories.ts';
import type { Stage } from './stage.ts';
import { type Ending, endingOf } from './storm-ending.ts';
import { judgeSafety, type Safety } from './storm-safety.ts';
import type { StormPlan } from './storm-plan.ts';
import { prepareVictims, type Victim } from './storm-victim.ts';
import { kernelLine, release, removeJob } from './trial.ts';
import type { RestartSeen } from './witness.ts';
import type { Window } from './writes.ts';

/** What the witness saw of one job; times in ms since the epoch. */
export interface Seen {
  readonly tainted?: number;
  readonly firstDeleted?: number;
  readonly newRunning?: number;
}

export interface StormRound {
  readonly firstFault: number;
  readonly lastFault: number;
  readonly cases: readonly (Seen & Ending)[];
  readonly clusterEvents: number;
  readonly safety: Safety;
  /** From the first fault until all that may run again did. */
  readonly cpu: CpuTimes;
  /** Between these the audit log is counted. */
  readonly window: Window;
}

/** Requests of ours at once: a storm is no storm when it has to wait for its maker. */
const atOnce = 64;
const deadlineMs = 240_000;

export async function runStorm(stage: Stage, plan: StormPlan, number: number): Promise<StormRound> {
  const since = new Date();
  const victims = await prepareVictims(stage, plan, number);
  const clusterBefore = await clusterEvents(stage);
  const seen = victims.map((victim) => watch(stage, plan, victim));
  const before = cpuTimes(serversOf(stage));
  const { firstFault, lastFault } = await strike(stage, plan, victims);

  // By watches alone: asking every workflow how it does would be a storm of its own.
  await enough(
    plan.allowed,
    seen.map((each) => each.newRunning),
  );
  const cpu = cpuBetween(before, cpuTimes(serversOf(stage)));
  const endings = await inParallel(victims, (victim) => endingOf(stage, plan, victim), 8);
  const window = { from: firstFault, to: now() };
  const cases = await Promise.all(endings.map(async (ending, index) => ({ ...ending, ...(await soFar(seen[index])) })));
  const safety = await judgeSafety(stage, plan, victims, endings, since);
  const events = (await clusterEvents(stage)) - clusterBefore;
  await tidy(stage, plan, victims, endings);
  return { firstFault, lastFault, cases, clusterEvents: events, safety, cpu, window };
}

type Watched = RestartSeen & { readonly tainted?: Promise<number> };

function watch({ witness }: Stage, { hits }: StormPlan, { job, old, node }: Victim): Watched {
  const seen = witness.restartOf(job, old);
  if (hits === 'jobs') return seen;
  const tainted = witness.tainted(node.name, quarantineTaintKey);
  tainted.catch(() => undefined); // a node that is held has none
  return { ...seen, tainted };
}

async function strike({ world }: Stage, { hits }: StormPlan, victims: readonly Victim[]): Promise<Pick<StormRound, 'firstFault' | 'lastFault'>> {
  const firstFault = now();
  await inParallel(
    victims,
    ({ node, pod }) => (hits === 'nodes' ? breakGpu(node, kernelLine) : failContainer(world.api, pod, { exitCode: 1, restart: true })),
    atOnce,
  );
  return { firstFault, lastFault: now() };
}

/** Resolves when so many have, or after the deadline: what is missing then is counted, not waited for. */
async function enough(wanted: number, promises: readonly Promise<unknown>[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = wanted;
  for (const each of promises)
    each.then(
      () => {
        left -= 1;
        if (left === 0) resolve();
      },
      () => undefined,
    );
  const timer = setTimeout(resolve, deadlineMs);
  await promise;
  clearTimeout(timer);
}

/** What has happened by now. */
async function soFar(watched: Watched | undefined): Promise<Seen> {
  const settled = (promise: Promise<number> | undefined): Promise<number | undefined> =>
    Promise.race([(promise ?? Promise.resolve(undefined)).catch(() => undefined), sleep(0, undefined)]);
  const [tainted, firstDeleted, newRunning] = await Promise.all([watched?.tainted, watched?.firstDeleted, watched?.newRunning].map(settled));
  return {
    ...(tainted !== undefined && { tainted }),
    ...(firstDeleted !== undefined && { firstDeleted }),
    ...(newRunning !== undefined && { newRunning }),
  };
}

const serversOf = ({ world, kcover }: Stage): Server[] => [...Object.values(world.servers), ...kcover.workers, ...kcover.controllers];

const clusterEvents = ({ client }: Stage): Promise<number> => historyLength(client, clusterWorkflowId).catch(() => 0);

/** Jobs first, so that a node that is given back restarts nothing; nodes that wait before those that are out, so that none takes its place. */
async function tidy(stage: Stage, { hits }: StormPlan, victims: readonly Victim[], endings: readonly Ending[]): Promise<void> {
  await inParallel(victims, ({ job }) => removeJob(stage, job), 8);
  if (hits === 'jobs') return;
  for (const quarantined of [false, true]) {
    const nodes = victims.filter((_, index) => (endings[index]?.node === 'quarantined') === quarantined);
    await inParallel(nodes, ({ node }) => release(stage, node.name), 8);
  }
}
