import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { Activities } from '../../contract/wire/activities.ts';
import { recoveryId, workflowTypes } from '../../contract/ids.ts';
import { statusQuery } from '../../contract/wire/messages.ts';
import type { RecoveryInput, RecoveryOutcome } from '../../contract/recovery/recovery.ts';
import { FakeCluster } from '../support/fake-cluster.ts';
import { type Rig, startRig } from '../support/rig.ts';

/** KCOVER_QUERIED_RECOVERIES=200 for a longer look. */
const recoveries = Number(process.env['KCOVER_QUERIED_RECOVERIES'] ?? 12);
const atOnce = 4;
const everyMs = 25;

const clusters = new Map<string, FakeCluster>();
const any = new FakeCluster();

/** Each job has a cluster of its own, and decisions take a moment, in which a query may come. */
const activities = Object.fromEntries(
  Object.keys(any.activities()).map((name) => [
    name,
    async (request: { readonly job?: { readonly uid: string } }) => {
      if (name.startsWith('decide')) await sleep(Math.random() * 8);
      const cluster = clusters.get(request.job?.uid ?? '') ?? any;
      return (cluster.activities() as unknown as Record<string, (one: unknown) => Promise<unknown>>)[name]?.(request);
    },
  ]),
) as unknown as Activities;

const limits: RecoveryInput['limits'] = {
  attempts: 3,
  holdMs: 60_000,
  stopMs: 60_000,
  restartMs: 60_000,
  placementMs: 60_000,
  evidenceMs: 1000,
  verify: { firstMs: 60_000, stallMs: 60_000, mostMs: 60_000 },
};

let rig: Rig;
beforeAll(async () => {
  rig = await startRig(activities);
});
afterAll(() => rig.close());

async function start(): Promise<WorkflowHandle> {
  const cluster = new FakeCluster();
  const job = { ...cluster.job, name: `llm-${randomUUID().slice(0, 8)}` };
  clusters.set(job.uid, cluster);
  const incident = recoveryId(job, Date.now());
  const input: RecoveryInput = { incident, job, faults: [], askedBy: { by: 'ada', reason: 'a test asks' }, limits };
  return rig.client.workflow.start(workflowTypes.recovery, {
    workflowId: incident,
    taskQueue: rig.taskQueue,
    args: [input],
  });
}

/** Asks for the status again and again until the workflow has ended; answers how often. */
async function queried(handle: WorkflowHandle, result: Promise<unknown>): Promise<number> {
  let over = false;
  const ending = () => (over = true);
  result.then(ending, ending);
  let queries = 0;
  for (; !over; queries++) await Promise.all([handle.query(statusQuery).catch(() => undefined), sleep(everyMs)]);
  return queries;
}

async function recoverQueried(): Promise<{ readonly outcome: string; readonly queries: number }> {
  const handle = await start();
  const result = rig.client.withDeadline(Date.now() + 60_000, () => handle.result() as Promise<RecoveryOutcome>);
  const queries = await queried(handle, result);
  const outcome = await result.then(
    (report) => report.outcome,
    async () => `stuck in ${JSON.stringify((await handle.describe()).raw.pendingWorkflowTask)}`,
  );
  if (outcome === 'restarted') await rig.replay(handle.workflowId);
  return { outcome, queries };
}

describe('a recovery that is queried up to forty times a second', () => {
  it(`comes to its end, ${recoveries} times`, async () => {
    const seen = [];
    for (let done = 0; done < recoveries; done += atOnce)
      seen.push(...(await Promise.all(Array.from({ length: atOnce }, recoverQueried))));
    expect(seen.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'restarted')).toEqual([]);
    expect(seen.reduce((sum, { queries }) => sum + queries, 0)).toBeGreaterThan(recoveries);
  }, 600_000);
});
