/** One collection: all reports sent at once or over a period, optionally with a process killed in the middle, and its result. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { preflightWorkflowId, quarantineTaintKey } from '../contract/ids.ts';
import { statusQuery } from '../contract/wire/messages.ts';
import type { PreflightStatus } from '../contract/preflight/runs.ts';
import type { Kcover } from '../testbed/roles.ts';
import { until } from '../testbed/until.ts';
import type { TestCluster } from '../testbed/test-cluster.ts';
import { now } from './clock.ts';
import type { PreflightUploaders, NodeFleet } from './collection-fleet.ts';
import { testedWorkload } from './collection-pods.ts';
import { historyLength } from './histories.ts';

export const killable = ['nobody', 'controller', 'worker'] as const;

export interface CollectionPlan {
  readonly reports: number;
  /** Period over which they are sent, ms; 0: all at once. */
  readonly overMs: number;
  readonly kill: (typeof killable)[number];
}

/** Times in ms after the first report was sent. */
export interface CollectionResult extends CollectionPlan {
  /** Until the storage of every report was confirmed to its agent. */
  readonly acceptedMs: number;
  /** Until the run was judged. */
  readonly verdictMs: number;
  /** Reports that were missing in the judged run. */
  readonly lost: number;
  readonly refused: number;
  readonly verdicts: number;
  readonly slowFound: number;
  readonly slowThere: number;
  /** Number of slow nodes that were quarantined. */
  readonly quarantined: number;
  readonly historyEvents: number;
}

export interface CollectionStage {
  readonly cluster: TestCluster;
  readonly kcover: Kcover;
  readonly client: Client;
  readonly fleet: NodeFleet;
}

const deadlineMs = 600_000;

export async function collect(
  { cluster, kcover, client, fleet }: CollectionStage,
  plan: CollectionPlan,
  number: number,
): Promise<CollectionResult> {
  const nodes = await fleet.nodes(plan.reports);
  // Other nodes in each round, because a quarantined node stays quarantined.
  const slow = [nodes[(2 * number) % nodes.length], nodes[(2 * number + 1) % nodes.length]].flatMap(
    (node) => node?.name ?? [],
  );
  const job = await testedWorkload(cluster, `collection-${number}`, nodes, slow);
  // An agent reads a file only after it has been unchanged for a second.
  await Promise.all([sleep(1500), fleet.greet(nodes)]);
  const workflowId = preflightWorkflowId(job);
  const sentAt = now();
  const uploaders = await fleet.send(nodes, plan.overMs);
  const accepted = allAccepted(uploaders, plan.reports).then(() => now() - sentAt);
  const killed = kill(kcover, plan, uploaders);
  const look = async () => {
    const { last, phase, because } = await statusOf(client, workflowId);
    return last === undefined
      ? { missing: `${phase}: ${because}; ${uploaders.accepted} taken` }
      : { found: now() - sentAt };
  };
  const verdictMs = await until(`verdict on ${plan.reports} reports`, deadlineMs, look, 50);
  await killed;
  const acceptedMs = await accepted;
  const status = await statusOf(client, workflowId);
  const quarantined = await isOut(cluster, slow);
  const { refused } = uploaders;
  await uploaders.stop();
  const found = status.last?.verdict?.slow.map(({ node }) => node) ?? [];
  return {
    ...plan,
    acceptedMs,
    verdictMs,
    lost: plan.reports - (status.last?.received ?? 0),
    refused,
    verdicts: status.run,
    slowFound: slow.filter((node) => found.includes(node)).length,
    slowThere: slow.length,
    quarantined,
    historyEvents: await historyLength(client, workflowId),
  };
}

const statusOf = (client: Client, workflowId: string): Promise<PreflightStatus> =>
  client.withDeadline(Date.now() + 5000, () =>
    client.workflow.getHandle(workflowId).query<PreflightStatus>(statusQuery),
  );

const allAccepted = (uploaders: PreflightUploaders, reports: number): Promise<true> =>
  until('every agent answered', deadlineMs, async () =>
    uploaders.accepted + uploaders.refused >= reports ? { found: true } : { missing: `${uploaders.accepted} taken` },
  );

/** Kills the process when a quarter of the reports is in Temporal. */
async function kill(
  { controller, workers }: Kcover,
  { kill: target, reports }: CollectionPlan,
  uploaders: PreflightUploaders,
): Promise<void> {
  const process = target === 'controller' ? controller : target === 'worker' ? workers[0] : undefined;
  if (process === undefined) return;
  while (uploaders.accepted < reports / 4) await sleep(2);
  await process.kill('SIGKILL');
  await sleep(500);
  await process.start();
}

/** Number of them with the taint, once all have it or the wait is over. */
async function isOut({ api }: TestCluster, slow: readonly string[]): Promise<number> {
  const out = async (): Promise<number> => {
    const nodes = await Promise.all(slow.map((name) => api.core.readNode({ name })));
    return nodes.filter(({ spec }) => spec?.taints?.some(({ key }) => key === quarantineTaintKey)).length;
  };
  return until('slow nodes out', 60_000, async () =>
    (await out()) === slow.length ? { found: slow.length } : { missing: 'not all' },
  ).catch(out);
}
