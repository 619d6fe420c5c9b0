/** One storm: many new jobs, simultaneous faults for each, and the observed times. */

import { setTimeout as sleep } from 'node:timers/promises';
import { clusterWorkflowId, quarantineTaintKey } from '../contract/ids.ts';
import { inParallel } from '../kube/client/parallel.ts';
import { breakGpu, failContainer } from '../testbed/failures.ts';
import type { Server } from '../testbed/servers/server.ts';
import { now } from './clock.ts';
import { cpuBetween, type CpuTimes, cpuTimes } from './cpu.ts';
import { historyLength } from './histories.ts';
import type { BenchStage } from './stage.ts';
import { type StormEnding, endingOf } from './storm-ending.ts';
import { judgeSafety, type Safety } from './storm-safety.ts';
import type { StormPlan } from './storm-plan.ts';
import { prepareJobs, type AffectedJob } from './storm-jobs.ts';
import { kernelLine, release, removeJob } from './trial.ts';
import type { ObservedRestart } from './cluster-observer.ts';
import type { Window } from './writes.ts';

/** The observed times of one job, in ms since the epoch. */
export interface StormTimes {
  readonly tainted?: number;
  readonly firstDeleted?: number;
  readonly newRunning?: number;
}

export interface StormRound {
  readonly firstFault: number;
  readonly lastFault: number;
  readonly cases: readonly (StormTimes & StormEnding)[];
  readonly clusterEvents: number;
  readonly safety: Safety;
  /** From the first fault until all recoverable jobs run again. */
  readonly cpu: CpuTimes;
  /** The audit log is counted between these times. */
  readonly window: Window;
}

/** Concurrent requests of the benchmark: the faults must not wait for the injector. */
const atOnce = 64;
const deadlineMs = 240_000;

export async function runStorm(stage: BenchStage, plan: StormPlan, number: number): Promise<StormRound> {
  const since = new Date();
  const affectedJobs = await prepareJobs(stage, plan, number);
  const clusterBefore = await clusterEvents(stage);
  const seen = affectedJobs.map((affectedJob) => watch(stage, plan, affectedJob));
  const before = cpuTimes(serversOf(stage));
  const { firstFault, lastFault } = await strike(stage, plan, affectedJobs);

  // Observed by watches alone: querying every workflow would be a storm of its own.
  await enough(
    plan.allowed,
    seen.map((each) => each.newRunning),
  );
  const cpu = cpuBetween(before, cpuTimes(serversOf(stage)));
  const endings = await inParallel(affectedJobs, (affectedJob) => endingOf(stage, plan, affectedJob), 8);
  const window = { from: firstFault, to: now() };
  const cases = await Promise.all(endings.map(async (ending, index) => ({ ...ending, ...(await soFar(seen[index])) })));
  const safety = await judgeSafety(stage, plan, affectedJobs, endings, since);
  const events = (await clusterEvents(stage)) - clusterBefore;
  await tidy(stage, plan, affectedJobs, endings);
  return { firstFault, lastFault, cases, clusterEvents: events, safety, cpu, window };
}

type WatchedJob = ObservedRestart & { readonly tainted?: Promise<number> };

function watch({ observer }: BenchStage, { hits }: StormPlan, { job, old, node }: AffectedJob): WatchedJob {
  const seen = observer.restartOf(job, old);
  if (hits === 'jobs') return seen;
  const tainted = observer.tainted(node.name, quarantineTaintKey);
  tainted.catch(() => undefined); // a held node has none
  return { ...seen, tainted };
}

async function strike(
  { cluster }: BenchStage,
  { hits }: StormPlan,
  affectedJobs: readonly AffectedJob[],
): Promise<Pick<StormRound, 'firstFault' | 'lastFault'>> {
  const firstFault = now();
  await inParallel(
    affectedJobs,
    ({ node, pod }) =>
      hits === 'nodes' ? breakGpu(node, kernelLine) : failContainer(cluster.api, pod, { exitCode: 1, restart: true }),
    atOnce,
  );
  return { firstFault, lastFault: now() };
}

/** Resolves when enough promises have, or after the deadline: the missing ones are counted, not awaited. */
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

/** The times observed so far. */
async function soFar(watched: WatchedJob | undefined): Promise<StormTimes> {
  const settled = (promise: Promise<number> | undefined): Promise<number | undefined> =>
    Promise.race([(promise ?? Promise.resolve(undefined)).catch(() => undefined), sleep(0, undefined)]);
  const [tainted, firstDeleted, newRunning] = await Promise.all(
    [watched?.tainted, watched?.firstDeleted, watched?.newRunning].map(settled),
  );
  return {
    ...(tainted !== undefined && { tainted }),
    ...(firstDeleted !== undefined && { firstDeleted }),
    ...(newRunning !== undefined && { newRunning }),
  };
}

const serversOf = ({ cluster, kcover }: BenchStage): Server[] => [
  ...Object.values(cluster.servers),
  ...kcover.workers,
  ...kcover.controllers,
];

const clusterEvents = ({ client }: BenchStage): Promise<number> =>
  historyLength(client, clusterWorkflowId).catch(() => 0);

/** Jobs first, so that a released node restarts nothing; held nodes before quarantined ones, so that none takes their place. */
async function tidy(
  stage: BenchStage,
  { hits }: StormPlan,
  affectedJobs: readonly AffectedJob[],
  endings: readonly StormEnding[],
): Promise<void> {
  await inParallel(affectedJobs, ({ job }) => removeJob(stage, job), 8);
  if (hits === 'jobs') return;
  for (const quarantined of [false, true]) {
    const nodes = affectedJobs.filter((_, index) => (endings[index]?.node === 'quarantined') === quarantined);
    await inParallel(nodes, ({ node }) => release(stage, node.name), 8);
  }
}
