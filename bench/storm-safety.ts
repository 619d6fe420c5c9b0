/** Whether everything that must hold after a storm holds, by UID from the audit log, a watch and the records. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jobWorkflowId } from '../contract/ids.ts';
import type { NodeRecord } from '../contract/nodes.ts';
import type { IncidentRecord } from '../contract/recovery.ts';
import { readWrites, type Write } from '../testbed/audit.ts';
import type { RunningJob } from '../testbed/jobs.ts';
import { until } from '../testbed/until.ts';
import type { Chronicle } from '../test/support/chronicle.ts';
import { ourWrites, takenByKubelet, violations } from '../test/support/invariants.ts';
import type { Stage } from './stage.ts';
import type { Ending } from './storm-ending.ts';
import type { StormPlan } from './storm-plan.ts';
import type { Victim } from './storm-victim.ts';

/** Every number must be 0 and every list empty. */
export interface Safety {
  /** Jobs that were neither restarted nor held. */
  readonly lost: number;
  /** Stops beyond one for each job. */
  readonly doubled: number;
  /** Pods of new attempts on nodes that are quarantined. */
  readonly misplaced: number;
  /** Further rules that were broken, a sentence each. */
  readonly violations: readonly string[];
}

export async function judgeSafety(stage: Stage, plan: StormPlan, victims: readonly Victim[], endings: readonly Ending[], since: Date): Promise<Safety> {
  const { chronicle } = stage;
  const restarted = victims.filter((_, index) => endings[index]?.job === 'restarted');
  const records = await recordsOf(stage, restarted);
  const all = await readWrites(stage.world.kubernetes.auditLog, since);
  const live = victims.flatMap(({ job }) => chronicle.podsOf(job)).filter(({ gone }) => gone === undefined);
  const held = new Set(victims.filter((_, index) => endings[index]?.job === 'held').map(({ job }) => job.uid));
  const misplaced = live.filter(({ owner, node }) => node !== undefined && !held.has(owner) && chronicle.isQuarantined(node));
  const broken = await Promise.all(restarted.map((victim) => violationsOf(stage, victim, all, records)));
  const stops = restarted.map(({ job }) => ownOf(records, job).reduce((sum, record) => sum + record.stops.length, 0));
  return {
    lost: endings.filter(({ job }) => job === 'lost').length,
    doubled: stops.reduce((sum, count) => sum + Math.max(0, count - 1), 0),
    misplaced: misplaced.length,
    violations: [
      ...broken.flat(),
      ...victims.filter(({ job }) => held.has(job.uid)).flatMap((victim) => touched(victim, chronicle)),
      ...wrongNodes(plan, victims, chronicle),
    ],
  };
}

async function violationsOf({ client, chronicle }: Stage, { job }: Victim, all: readonly Write[], records: readonly IncidentRecord[]): Promise<string[]> {
  const { events } = await client.workflow.getHandle(jobWorkflowId(job)).fetchHistory();
  const recoveries = (events ?? []).flatMap((event) => event.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId ?? []);
  const found = violations({
    job,
    pods: chronicle.podsOf(job),
    quarantines: chronicle.quarantines(),
    writes: ourWrites(all),
    takenByKubelet: takenByKubelet(all),
    records: ownOf(records, job),
    recoveries,
    suspended: chronicle.isSuspended(job),
  });
  return found.map((sentence) => `${job.name}: ${sentence}`);
}

/** A job that is held keeps the pods that it had. */
function touched({ job, old }: Victim, chronicle: Chronicle): string[] {
  const gone = chronicle.podsOf(job).filter((pod) => old.has(pod.uid) && pod.gone !== undefined);
  return gone.map(({ name }) => `${job.name} is held, and its pod ${name} is gone`);
}

/** Out are nodes that broke, and as many as may be. */
function wrongNodes({ hits, allowed }: StormPlan, victims: readonly Victim[], chronicle: Chronicle): string[] {
  const out = chronicle.quarantines().filter(({ to }) => to === undefined);
  const broken = new Set(hits === 'nodes' ? victims.map(({ node }) => node.name) : []);
  const expected = hits === 'nodes' ? allowed : 0;
  return [
    ...out.filter(({ node }) => !broken.has(node)).map(({ node }) => `${node} is quarantined and has no fault`),
    ...(out.length === expected ? [] : [`${out.length} nodes are quarantined, and ${expected} should be`]),
  ];
}

/** A recovery reports to its job before it writes its record. */
function recordsOf({ kcover }: Stage, victims: readonly Victim[]): Promise<IncidentRecord[]> {
  const read = (): IncidentRecord[] =>
    readdirSync(kcover.records)
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(join(kcover.records, name), 'utf8')) as IncidentRecord | NodeRecord)
      .filter((record): record is IncidentRecord => 'job' in record);
  return until('a record of every recovery', 60_000, () => {
    const records = victims.length === 0 ? [] : read();
    const missing = victims.filter(({ job }) => ownOf(records, job).length === 0);
    return Promise.resolve(missing.length === 0 ? { found: records } : { missing: `${missing.length} are missing` });
  });
}

const ownOf = (records: readonly IncidentRecord[], { uid }: Pick<RunningJob, 'uid'>): IncidentRecord[] => records.filter(({ job }) => job.uid === uid);
