/** One story: a GPU breaks, and one process, or two, are killed at steps of what follows. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiWeather } from '../../testbed/api-proxy.ts';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, type LiveKcover, xid79 } from '../support/live-kcover.ts';
import { evidence } from './evidence.ts';
import { allReady, killAndStart, processOf, type Stage, surely, type Victim } from './processes.ts';
import { lookout, type Step } from './steps.ts';

export const orders = ['Xid before the pod failure', 'Xid after the pod failure'] as const;
export type Order = (typeof orders)[number];

export interface Kill {
  readonly victim: Victim;
  readonly step: Step;
  /** How long the process stays dead, ms. */
  readonly pauseMs: number;
}

export interface Plan {
  /** Of different processes. */
  readonly kills: readonly Kill[];
  readonly order: Order;
  /** How the API answers kcover from the beginning of this story until the next one begins. */
  readonly weather?: ApiWeather;
}

export interface Told {
  readonly plan: Plan;
  readonly job: string;
  /** Incidents, and stops in them. */
  readonly incidents: number;
  readonly stops: number;
  readonly tookMs: number;
  /** Sentences; empty when all is well. */
  readonly violations: readonly string[];
}

/** Lets one caller after the other do something: processes are killed for one story at a time. */
export type Turn = <T>(task: () => Promise<T>) => Promise<T>;

export function takeTurns(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const mine = last.then(task);
    last = mine.catch(() => undefined);
    return mine;
  };
}

const settledWithinMs = 240_000;

/** Tells the story of a new job of two pods, judges it, and puts everything back. Never rejects. */
export async function tellStory(stage: Stage, plan: Plan, turn: Turn): Promise<Told> {
  const { live } = stage;
  const began = Date.now();
  let job: LiveJob | undefined;
  const told = (sentences: readonly string[]): Told => {
    const records = job ? live.records(job) : [];
    const stops = records.reduce((sum, record) => sum + record.stops.length, 0);
    return { plan, job: job?.name ?? 'none', incidents: records.length, stops, tookMs: Date.now() - began, violations: sentences };
  };
  const tell = async (): Promise<string[]> => {
    const created = (job = await surely('a new job', () => newJob(live)));
    const { node, incidents, quarantines } = await turn(async () => {
      await allReady(stage);
      const standing = (job = await live.standing(created));
      return breakAndKill(stage, standing, plan);
    });
    // Counted, because another story whose job stood there before may have given the node back already.
    await live.chronicle.seen(`quarantine of ${node.name}`, settledWithinMs, () => quarantinesOf(live, node) >= quarantines);
    await live.settled(job, { incidents, withinMs: settledWithinMs });
    const settled = job;
    // Each kind of object has a watch of its own, and after a cut that of the jobs may come last.
    await live.chronicle.seen(`${settled.name} not suspended`, settledWithinMs, () => !live.chronicle.isSuspended(settled));
    const facts = await surely(`facts of ${settled.name}`, () => live.facts(settled));
    const wrong = [...violations(facts), ...wrongEnd(live, settled)];
    return wrong.length > 0 ? [...wrong, `what was done:\n  ${evidence(facts)}`] : [];
  };
  const sentences = await tell().catch((error: unknown) => [said(error)]);
  const end = told(sentences);
  if (job === undefined) return end;
  const left = await putBack(live, job).then(
    () => [],
    (error: unknown) => [`what came after: ${said(error)}`],
  );
  return { ...end, violations: [...end.violations, ...left] };
}

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Where an answer was lost the job may be there all the same, and would stand in the way of others. */
async function newJob(live: LiveKcover): Promise<LiveJob> {
  const { custom } = live.world.api;
  const name = `llm-${randomUUID().slice(0, 8)}`;
  try {
    return await live.pytorch({ name });
  } catch (error) {
    const kind = { group: 'kubeflow.org', version: 'v1', plural: 'pytorchjobs' };
    const { items } = (await surely('jobs', () => custom.listClusterCustomObject(kind))) as { items: { metadata: { name: string; namespace: string } }[] };
    const left = items.find(({ metadata }) => metadata.name === name)?.metadata;
    if (left) await custom.deleteNamespacedCustomObject({ ...kind, ...left });
    throw error;
  }
}

interface Broken {
  readonly node: SimulatedNode;
  /** How many there must be in the end. */
  readonly incidents: number;
  readonly quarantines: number;
}

async function breakAndKill(stage: Stage, job: LiveJob, { kills, order, weather }: Plan): Promise<Broken> {
  const { live, proxy } = stage;
  const node = job.nodes.at(-1);
  if (!node) throw new Error(`${job.name} runs nowhere`);
  const before = { incidents: live.records(job).length, quarantines: quarantinesOf(live, node) };
  const reached = await lookout(live, job, node);
  proxy?.setWeather(weather ?? {});
  const seen = kills.map(({ step }) => reached(step));
  for (const each of seen) each.catch(() => undefined);
  await breakDown(live, job, node, order);
  await Promise.all(
    kills.map(async ({ victim, pauseMs }, index) => {
      await seen[index];
      await killAndStart(stage, processOf(stage, victim, node), pauseMs);
    }),
  );
  return { node, incidents: before.incidents + 1, quarantines: before.quarantines + 1 };
}

const quarantinesOf = ({ chronicle }: LiveKcover, { name }: SimulatedNode): number => chronicle.quarantines().filter(({ node }) => node === name).length;

async function breakDown({ world }: LiveKcover, job: LiveJob, node: SimulatedNode, order: Order): Promise<void> {
  const pod = job.first.at(-1);
  if (!pod) throw new Error(`${job.name} has no pod`);
  // As under a kubelet with restart policy OnFailure: the container starts again in the same pod, and the pod keeps telling of the death.
  const fail = () => failContainer(world.api, pod, { exitCode: 1, restart: true });
  if (order === 'Xid after the pod failure') {
    await fail();
    await sleep(50);
    await breakGpu(node, xid79);
    return;
  }
  await breakGpu(node, xid79);
  // Where the line alone was enough, the pod is gone before it could fail.
  await fail().catch(() => undefined);
}

function wrongEnd(live: LiveKcover, job: LiveJob): string[] {
  return live
    .records(job)
    .filter(({ outcome }) => outcome !== 'restarted' && outcome !== 'cancelled')
    .map(({ incident, outcome, because }) => `${incident} ended ${outcome}: ${because}`);
}

async function putBack(live: LiveKcover, job: LiveJob): Promise<void> {
  await surely(`${job.name} ended`, () => live.end(job));
  for (const node of job.nodes) await surely(`${node.name} given back`, () => live.release(node));
}
