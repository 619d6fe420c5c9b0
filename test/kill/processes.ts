/** Processes that can be killed, and how they are restarted. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiProxy } from '../../testbed/api-proxy.ts';
import { syncPods } from '../../testbed/kubelets.ts';
import type { SimulatedNode } from '../../testbed/nodes.ts';
import type { Server } from '../../testbed/servers/server.ts';
import { until } from '../../testbed/until.ts';
import type { TestCluster } from '../../testbed/test-cluster.ts';
import type { LiveKcover } from '../support/live-kcover.ts';
import type { Pools, Selector } from './pools.ts';
import { takeTurns, type Turn } from './turns.ts';

/** The agent is that of the node that breaks. */
export const targetProcesses = ['worker', 'controller', 'agent', 'API server', 'etcd', 'Temporal'] as const;
export type TargetProcess = (typeof targetProcesses)[number];
/** Processes that are killed in the slow-path scenarios of every test run. The other two take half of Kubernetes down; `npm run test:kill -- --matrix` includes them. */
export const quickToReturn: readonly TargetProcess[] = ['worker', 'controller', 'agent', 'Temporal'];

/** All of kcover, and the servers that it needs. */
export interface KillStage {
  readonly live: LiveKcover;
  readonly servers: TestCluster['servers'];
  /**
   * Ended and started with the API server. The simulated kubelets must be: they may stop renewing their leases for so long that nodes count as dead,
   * unlike real kubelets. An operator reconnects by itself, but its watches may take a minute, during which it acts on cached state.
   */
  readonly startedAlong?: readonly Server[];
  /** The proxy through which kcover's roles reach the API, for scenarios with API faults. */
  readonly proxy?: ApiProxy;
  /** Nodes for slow-path scenarios, and, if these are not all nodes, those for the others. */
  readonly pools: Pools;
  readonly common?: Selector;
  /** Of all scenarios, because a kill affects all of them. */
  readonly absences: Absence[];
}

/** How long a process was down, times in ms. */
export interface Absence {
  readonly process: string;
  readonly from: number;
  /** Missing until it is ready again. */
  until?: number;
}

export function processOf(
  { live, servers }: KillStage,
  target: TargetProcess,
  node: Pick<SimulatedNode, 'name'>,
): Server {
  const { workers, controller, agents } = live.kcover;
  const found = {
    worker: workers[0],
    controller,
    agent: agents.get(node.name),
    'API server': servers.apiserver,
    etcd: servers.etcd,
    Temporal: servers.temporal,
  }[target];
  if (!found) throw new Error(`there is no ${target} for ${node.name}`);
  return found;
}

/** A process is killed by one scenario at a time. */
const turns = new WeakMap<Server, Turn>();

/** Kills the process with SIGKILL and restarts it on the same ports and data. `onDeath` is called when it has ended. */
export function killAndStart(
  stage: KillStage,
  process: Server,
  pauseMs: number,
  onDeath: () => Promise<void> = async () => {},
): Promise<void> {
  const turn = turns.get(process) ?? takeTurns();
  turns.set(process, turn);
  return turn(() => dieAndReturn(stage, process, pauseMs, onDeath));
}

async function dieAndReturn(
  { live, servers, startedAlong = [], absences }: KillStage,
  process: Server,
  pauseMs: number,
  onDeath: () => Promise<void>,
): Promise<void> {
  // A process that another scenario has just killed must run again before it can be killed here.
  if (process.pid === undefined) await surely(`${process.name} runs`, () => process.start());
  const absence: Absence = { process: process.name, from: Date.now() };
  absences.push(absence);
  await process.kill('SIGKILL');
  await onDeath();
  await sleep(pauseMs);
  await process.start();
  absence.until = Date.now();
  if (process === servers.apiserver || process === servers.etcd) void syncPods(live.cluster.api);
  if (process !== servers.apiserver) return;
  await Promise.all(
    startedAlong.map(async (each) => {
      await each.kill('SIGKILL');
      await surely('a server beside the API server', () => each.start());
    }),
  );
}

/** Waits until everything is ready: a scheduler, for example, ends with its API server, and its supervisor needs a moment. */
export async function allReady({ live, servers }: KillStage): Promise<void> {
  await Promise.all(
    [...Object.values(servers), ...live.kcover.workers, live.kcover.controller].map((each) => each.start()),
  );
}

/** Retries until it succeeds, because another scenario may just have killed a dependency. */
export function surely<T>(what: string, task: () => Promise<T>): Promise<T> {
  return until(what, 120_000, async () => ({ found: await task() }));
}
