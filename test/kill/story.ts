/** One story: a GPU breaks, and one process of kcover is killed at one step of what follows. */

import { setTimeout as sleep } from 'node:timers/promises';
import { jobWorkflowId, nodeWorkflowId } from '../../contract/ids.ts';
import { breakGpu, failContainer } from '../../testbed/failures.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import type { Server } from '../../testbed/servers/server.ts';
import { violations } from '../support/invariants.ts';
import { type LiveJob, type LiveKcover, xid79 } from '../support/live-kcover.ts';

/** What can be killed. The agent is that of the node that breaks. */
export const victims = ['worker', 'controller', 'agent'] as const;
export type Victim = (typeof victims)[number];

export const orders = ['Xid before the pod failure', 'Xid after the pod failure'] as const;
export type Order = (typeof orders)[number];

/** Steps in their order, as an onlooker sees them. */
export const steps = [
  'line written',
  'report accepted',
  'taint seen',
  'recovery exists',
  'suspend seen',
  'old pods gone',
  'resume seen',
  'new pods running',
  'record written',
] as const;
export type Step = (typeof steps)[number];

export interface Plan {
  readonly victim: Victim;
  readonly step: Step;
  readonly order: Order;
  /** How long the process stays dead, ms. */
  readonly pauseMs: number;
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

/** Lets one caller after the other do something: a process is killed for one story at a time. */
export type Turn = <T>(task: () => Promise<T>) => Promise<T>;

export function takeTurns(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const mine = last.then(task);
    last = mine.catch(() => undefined);
    return mine;
  };
}

const stepWithinMs = 60_000;
const settledWithinMs = 120_000;

/** Tells the story of a new job of two pods, judges it, and puts everything back. Never rejects. */
export async function tellStory(live: LiveKcover, plan: Plan, turn: Turn): Promise<Told> {
  const began = Date.now();
  let job: LiveJob | undefined;
  const told = (sentences: readonly string[]): Told => {
    const records = job ? live.records(job) : [];
    const stops = records.reduce((sum, record) => sum + record.stops.length, 0);
    return { plan, job: job?.name ?? 'none', incidents: records.length, stops, tookMs: Date.now() - began, violations: sentences };
  };
  try {
    const created = (job = await live.pytorch());
    const { node, incidents, quarantines } = await turn(async () => {
      // What ended by itself, as a controller does that lost its Lease, a kubelet starts again.
      await Promise.all([...live.kcover.workers, live.kcover.controller].map((each) => each.start()));
      const standing = (job = await live.standing(created));
      const bad = standing.nodes.at(-1);
      const process = { worker: live.kcover.workers[0], controller: live.kcover.controller, agent: live.kcover.agents.get(bad?.name ?? '') }[plan.victim];
      if (!bad || !process) throw new Error(`there is no ${plan.victim} for ${standing.name}`);
      const before = { records: live.records(standing).length, node: await live.markOf(nodeWorkflowId(bad.name)), quarantines: quarantinesOf(live, bad) };
      const reached = stepSeen(live, standing, bad, plan.step, before);
      reached.catch(() => undefined);
      await breakDown(live, standing, bad, plan.order);
      await reached;
      await killAndStart(process, plan.pauseMs);
      return { node: bad, incidents: before.records + 1, quarantines: before.quarantines + 1 };
    });
    // Counted, because another story whose job stood there before may have given the node back already.
    await live.chronicle.seen(`quarantine of ${node.name}`, settledWithinMs, () => quarantinesOf(live, node) >= quarantines);
    await live.settled(job, { incidents, withinMs: settledWithinMs });
    return told([...violations(await live.facts(job)), ...wrongEnd(live, job)]);
  } catch (error) {
    return told([error instanceof Error ? error.message : String(error)]);
  } finally {
    if (job) await putBack(live, job);
  }
}

const quarantinesOf = ({ chronicle }: LiveKcover, { name }: SimulatedNode): number => chronicle.quarantines().filter(({ node }) => node === name).length;

async function killAndStart(process: Server, pauseMs: number): Promise<void> {
  await process.kill('SIGKILL');
  await sleep(pauseMs);
  await process.start();
}

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

/** Resolves in the moment in which the step is seen. Begins to look before anything breaks. */
async function stepSeen(
  live: LiveKcover,
  job: LiveJob,
  node: SimulatedNode,
  step: Step,
  before: { readonly records: number; readonly node: string },
): Promise<void> {
  const { chronicle } = live;
  const first = new Set(job.first.map(({ metadata }) => metadata?.uid ?? ''));
  const pods = () => chronicle.podsOf(job);
  const seen = (isSo: () => boolean) => chronicle.seen(`${step} of ${job.name}`, stepWithinMs, isSo);
  const asked = (isSo: () => boolean | Promise<boolean>) => lookUntil(`${step} of ${job.name}`, isSo);
  switch (step) {
    case 'line written':
      return;
    case 'report accepted':
      return asked(async () => (await live.markOf(nodeWorkflowId(node.name))) !== before.node);
    case 'taint seen':
      return seen(() => chronicle.isQuarantined(node.name));
    case 'recovery exists':
      return asked(() => hasChild(live, jobWorkflowId(job)));
    case 'suspend seen':
      return seen(() => chronicle.isSuspended(job));
    case 'old pods gone':
      return seen(() => pods().every(({ uid, gone }) => !first.has(uid) || gone !== undefined));
    case 'resume seen':
      await seen(() => chronicle.isSuspended(job));
      return seen(() => !chronicle.isSuspended(job));
    case 'new pods running':
      await seen(() => chronicle.isSuspended(job));
      return seen(() => pods().filter(({ uid, ready }) => ready && !first.has(uid)).length === job.pods);
    case 'record written':
      return asked(() => live.records(job).length > before.records);
  }
}

async function lookUntil(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + stepWithinMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`${what} was not seen within ${stepWithinMs / 1000} s`);
    await sleep(10);
  }
}

const hasChild = (live: LiveKcover, workflowId: string): Promise<boolean> =>
  live.temporal.workflow
    .getHandle(workflowId)
    .describe()
    .then(({ raw }) => (raw.pendingChildren ?? []).length > 0)
    .catch(() => false);

function wrongEnd(live: LiveKcover, job: LiveJob): string[] {
  return live
    .records(job)
    .filter(({ outcome }) => outcome !== 'restarted' && outcome !== 'cancelled')
    .map(({ incident, outcome, because }) => `${incident} ended ${outcome}: ${because}`);
}

async function putBack(live: LiveKcover, job: LiveJob): Promise<void> {
  await live.end(job);
  for (const node of job.nodes) await live.release(node);
}
