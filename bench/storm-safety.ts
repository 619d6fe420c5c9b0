/** Checks the safety rules after a storm, by UID, from the audit log, a watch and the records. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jobWorkflowId } from '../contract/ids.ts';
import type { NodeRecord } from '../contract/node/nodes.ts';
import type { IncidentRecord } from '../contract/recovery/recovery.ts';
import { readWrites, type Write } from '../testbed/audit.ts';
import type { RunningJob } from '../testbed/jobs.ts';
import { until } from '../testbed/until.ts';
import type { ClusterRecorder } from '../test/support/cluster-recorder.ts';
import { ourWrites, deletedByKubelet, violations } from '../test/support/invariants.ts';
import type { BenchStage } from './stage.ts';
import type { StormEnding } from './storm-ending.ts';
import type { StormPlan } from './storm-plan.ts';
import type { AffectedJob } from './storm-jobs.ts';

/** Every number must be 0 and every list empty. */
export interface Safety {
  /** Jobs that were neither restarted nor held. */
  readonly lost: number;
  /** Stops beyond one for each job. */
  readonly doubled: number;
  /** Pods of new attempts on quarantined nodes. */
  readonly misplaced: number;
  /** Other broken rules, one sentence each. */
  readonly violations: readonly string[];
}

export async function judgeSafety(
  stage: BenchStage,
  plan: StormPlan,
  affectedJobs: readonly AffectedJob[],
  endings: readonly StormEnding[],
  since: Date,
): Promise<Safety> {
  const { recorder } = stage;
  const restarted = affectedJobs.filter((_, index) => endings[index]?.job === 'restarted');
  const records = await recordsOf(stage, restarted);
  const all = await readWrites(stage.cluster.kubernetes.auditLog, since);
  const live = affectedJobs.flatMap(({ job }) => recorder.podsOf(job)).filter(({ gone }) => gone === undefined);
  const held = new Set(affectedJobs.filter((_, index) => endings[index]?.job === 'held').map(({ job }) => job.uid));
  const misplaced = live.filter(
    ({ owner, node }) => node !== undefined && !held.has(owner) && recorder.isQuarantined(node),
  );
  const broken = await Promise.all(restarted.map((affectedJob) => violationsOf(stage, affectedJob, all, records)));
  const stops = restarted.map(({ job }) => ownOf(records, job).reduce((sum, record) => sum + record.stops.length, 0));
  return {
    lost: endings.filter(({ job }) => job === 'lost').length,
    doubled: stops.reduce((sum, count) => sum + Math.max(0, count - 1), 0),
    misplaced: misplaced.length,
    violations: [
      ...broken.flat(),
      ...affectedJobs.filter(({ job }) => held.has(job.uid)).flatMap((affectedJob) => touched(affectedJob, recorder)),
      ...wrongNodes(plan, affectedJobs, recorder),
    ],
  };
}

async function violationsOf(
  { client, recorder }: BenchStage,
  { job }: AffectedJob,
  all: readonly Write[],
  records: readonly IncidentRecord[],
): Promise<string[]> {
  const { events } = await client.workflow.getHandle(jobWorkflowId(job)).fetchHistory();
  const recoveries = (events ?? []).flatMap(
    (event) => event.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId ?? [],
  );
  const found = violations({
    job,
    pods: recorder.podsOf(job),
    quarantines: recorder.quarantines(),
    writes: ourWrites(all),
    deletedByKubelet: deletedByKubelet(all),
    records: ownOf(records, job),
    recoveries,
    suspended: recorder.isSuspended(job),
  });
  return found.map((sentence) => `${job.name}: ${sentence}`);
}

/** A held job must keep its pods. */
function touched({ job, old }: AffectedJob, recorder: ClusterRecorder): string[] {
  const gone = recorder.podsOf(job).filter((pod) => old.has(pod.uid) && pod.gone !== undefined);
  return gone.map(({ name }) => `${job.name} is held, and its pod ${name} is gone`);
}

/** Only broken nodes may be quarantined, and no more than allowed. */
function wrongNodes(
  { hits, allowed }: StormPlan,
  affectedJobs: readonly AffectedJob[],
  recorder: ClusterRecorder,
): string[] {
  const out = recorder.quarantines().filter(({ to }) => to === undefined);
  const broken = new Set(hits === 'nodes' ? affectedJobs.map(({ node }) => node.name) : []);
  const expected = hits === 'nodes' ? allowed : 0;
  return [
    ...out.filter(({ node }) => !broken.has(node)).map(({ node }) => `${node} is quarantined and has no fault`),
    ...(out.length === expected ? [] : [`${out.length} nodes are quarantined, and ${expected} should be`]),
  ];
}

/** A recovery reports to its job before it writes its record. */
function recordsOf({ kcover }: BenchStage, affectedJobs: readonly AffectedJob[]): Promise<IncidentRecord[]> {
  const read = (): IncidentRecord[] =>
    readdirSync(kcover.records)
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(join(kcover.records, name), 'utf8')) as IncidentRecord | NodeRecord)
      .filter((record): record is IncidentRecord => 'job' in record);
  return until('a record of every recovery', 60_000, () => {
    const records = affectedJobs.length === 0 ? [] : read();
    const missing = affectedJobs.filter(({ job }) => ownOf(records, job).length === 0);
    return Promise.resolve(missing.length === 0 ? { found: records } : { missing: `${missing.length} are missing` });
  });
}

const ownOf = (records: readonly IncidentRecord[], { uid }: Pick<RunningJob, 'uid'>): IncidentRecord[] =>
  records.filter(({ job }) => job.uid === uid);
