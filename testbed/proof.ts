/** Facts that show a recovery's result: its record, the stored evidence and the budget of the job. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { V1Pod } from '@kubernetes/client-node';
import { Client, Connection } from '@temporalio/client';
import { formatDuration } from '../contract/settings/duration.ts';
import type { Evidence, EvidenceFile } from '../contract/recovery/evidence.ts';
import { jobWorkflowId } from '../contract/ids.ts';
import { statusQuery } from '../contract/wire/messages.ts';
import type { IncidentRecord } from '../contract/recovery/recovery.ts';
import type { JobStatus } from '../contract/job/training-job.ts';
import { readRecord } from './incident.ts';
import type { RunningJob } from './jobs.ts';
import type { DemoFixture } from './demo-fixture.ts';
import type { StoryResult } from './story.ts';
import { rankIn } from './trainer.ts';
import { until } from './until.ts';
import type { TestCluster } from './test-cluster.ts';

/** The stored evidence of one rank, a file each. */
export interface RankEvidence {
  readonly rank: number;
  readonly file: string;
  readonly bytes: number;
}

/** Null: not reported. */
export interface Proof {
  /** Training passed the last step before the stop. */
  readonly verified: boolean;
  readonly stepBefore: number | null;
  /** The checkpoint from which training continued. */
  readonly checkpointStep: number | null;
  readonly stepAfter: number | null;
  readonly waitedForCheckpointMs: number;
  readonly evidence: readonly RankEvidence[];
  /** Recoveries of this job in the last hour, and those of them with a blame. */
  readonly budget: Pick<JobStatus, 'recoveriesThisHour' | 'usageByCategory'>;
  readonly replicasBefore: number;
  readonly replicasAfter: number;
  /** The result of the capacity lookup, and what was done about it. */
  readonly capacity: string | null;
}

/** For the incident that has just ended. `before`: the pods of the stopped attempt. */
export async function proofOf({ cluster, kcover, job }: DemoFixture, before: readonly V1Pod[]): Promise<Proof> {
  const record = await until('the record of the incident', 10_000, () => readRecord(kcover, job));
  const { outcome, progress, checkpoints = [], evidence = [], pods, capacity } = record;
  const saved = checkpoints.findLast((each) => each.kind === 'saved');
  return {
    verified: outcome === 'recovered',
    stepBefore: progress?.before?.step ?? null,
    checkpointStep: saved?.checkpointStep ?? progress?.before?.checkpointStep ?? null,
    stepAfter: progress?.after?.step ?? null,
    waitedForCheckpointMs: checkpoints.reduce((sum, each) => sum + (each.kind === 'ended' ? 0 : each.waitedMs), 0),
    evidence: (await Promise.all(evidence.map((each) => filesOf(each, before)))).flat(),
    budget: await budgetOf(cluster, job, record),
    replicasBefore: pods?.before ?? before.length,
    replicasAfter: pods?.after ?? record.runningPods.length,
    capacity: capacity?.at(-1)?.because ?? null,
  };
}

/** Whether training had really reached the reported step: `reached` is the step of the new attempt as its trainer knows it. */
export const isTrue = ({ verified, stepBefore, stepAfter }: Proof, reached: number): boolean =>
  verified && stepBefore !== null && stepAfter !== null && stepBefore < stepAfter && stepAfter <= reached;

/** The same in words. */
export function proofLines(proof: Proof): StoryResult['lines'] {
  const { verified, stepBefore, checkpointStep, stepAfter, waitedForCheckpointMs, evidence, budget, capacity } = proof;
  const bytes = evidence.reduce((sum, each) => sum + each.bytes, 0);
  const ranks = new Set(evidence.map(({ rank }) => rank)).size;
  const counts = Object.entries(budget.usageByCategory ?? {}).flatMap(([blame, count]) =>
    count > 0 ? [`${count} counted as ${blame}`] : [],
  );
  return [
    [
      'training',
      `step ${stepBefore} before the stop, step ${stepAfter} after it: ${verified ? 'verified' : 'not verified'}`,
    ],
    [
      'checkpoint',
      `step ${checkpointStep}, ${waitedForCheckpointMs > 0 ? `after ${formatDuration(waitedForCheckpointMs)} of waiting for it` : 'the last one before the fault'}`,
    ],
    ['capacity', capacity ?? 'not looked up'],
    ['evidence', `${evidence.length} files of ${ranks} ranks, ${bytes} bytes`],
    ['budget', [`recoveries in the last hour: ${budget.recoveriesThisHour}`, ...counts].join(', ')],
  ];
}

/** Files of no rank, such as kernel log lines, are left out. */
async function filesOf({ address }: Evidence, pods: readonly V1Pod[]): Promise<RankEvidence[]> {
  const index = JSON.parse(await readFile(join(address, 'index.json'), 'utf8')) as readonly EvidenceFile[];
  const kept = index.flatMap(({ file, pod: name, bytes }) => {
    const pod = pods.find(({ metadata }) => metadata?.name === name);
    return pod ? [{ rank: rankIn(pods, pod), file, bytes }] : [];
  });
  return kept.toSorted((a, b) => a.rank - b.rank);
}

/** Answered by the job's workflow once the outcome of the incident was reported to it. */
async function budgetOf(
  { temporal }: Pick<TestCluster, 'temporal'>,
  job: RunningJob,
  { incident }: IncidentRecord,
): Promise<Proof['budget']> {
  const connection = await Connection.connect({ address: temporal.address });
  try {
    const handle = new Client({ connection, namespace: temporal.namespace }).workflow.getHandle(jobWorkflowId(job));
    return await until('the job back from its recovery', 30_000, async () => {
      const { last, recoveriesThisHour, usageByCategory } = await handle.query<JobStatus>(statusQuery);
      return last?.incident === incident
        ? { found: { recoveriesThisHour, ...(usageByCategory && { usageByCategory }) } }
        : { missing: `last incident ${last?.incident ?? 'none'}` };
    });
  } finally {
    await connection.close();
  }
}
