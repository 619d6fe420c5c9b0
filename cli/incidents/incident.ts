/** Summary of an incident, for lists: one recovery of one job, one quarantine of one node, or several nodes with one cause. */

import { faultSentence } from '../../contract/faults/sentence.ts';
import { type Fault, recoveryRequested } from '../../contract/faults/faults.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import type { NodeOutcome, NodeQuarantine, NodeRecord } from '../../contract/node/nodes.ts';
import type { Remediation, RemedyOutcome, RemedyProgress } from '../../contract/remedy/remedy.ts';
import type { Outcome } from '../../contract/recovery/outcomes.ts';
import type { IncidentRecord, RecoveryInput } from '../../contract/recovery/recovery.ts';

export interface IncidentSummary {
  readonly incident: string;
  readonly kind: 'recovery' | 'quarantine' | 'storm';
  /** Null for nodes. */
  readonly namespace: string | null;
  /** `pytorchjob/llm`, the name of the node, or the place of several. */
  readonly about: string;
  readonly nodes: readonly string[];
  /** RFC 3339. */
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** `unknown`: its end was not recorded. `replaced`: it was followed by another quarantine of the same node. */
  readonly outcome: 'open' | 'unknown' | 'replaced' | Outcome | NodeOutcome['outcome'];
  readonly because: string;
  /** User who requested it, or `kcover`. */
  readonly by: string;
  /** Why a quarantine ended. Null where `because` already gives the reason. */
  readonly endedBecause: string | null;
  /** Of a quarantine: the machine, whatever its Node object is called; attempts to repair it, oldest first; and how the repair ended, or what it does. */
  readonly machine?: string;
  readonly remediations?: readonly Remediation[];
  readonly remedy?: Repaired;
}

interface Repaired {
  readonly state: RemedyProgress['phase'] | RemedyOutcome['outcome'];
  readonly because: string;
  readonly until?: string;
}

/** Selects incidents. */
export interface IncidentFilter {
  /** Incidents that ended before this time are left out, ms. */
  readonly since: number;
  readonly namespace?: string | undefined;
  /** `pytorchjob/llm` */
  readonly job?: string | undefined;
  readonly node?: string | undefined;
}

export const isWanted = (
  { endedAt, namespace, kind, about, nodes }: IncidentSummary,
  wanted: IncidentFilter,
): boolean =>
  (endedAt === null || Date.parse(endedAt) >= wanted.since) &&
  (wanted.namespace === undefined || namespace === wanted.namespace) &&
  (wanted.job === undefined || (kind === 'recovery' && about === wanted.job)) &&
  (wanted.node === undefined || nodes.includes(wanted.node));

/** The first cause of a recovery, in one line. */
export const causeOf = ({ askedBy, faults }: Pick<RecoveryInput, 'askedBy' | 'faults'>): string =>
  askedBy ? `${askedBy.by} asked: ${askedBy.reason}` : (faults.map(faultSentence)[0] ?? 'a fault');

export const nodesOf = (faults: readonly Fault[]): readonly string[] => [
  ...new Set(faults.flatMap(({ node }) => node ?? [])),
];

export function fromRecord(record: IncidentRecord | NodeRecord): IncidentSummary {
  if ('job' in record) {
    const asked = record.faults.find(({ code }) => code === recoveryRequested);
    const { incident, job, faults, startedAt, endedAt, outcome, because } = record;
    const by = asked?.message.split(' asked: ')[0] ?? 'kcover';
    return {
      incident,
      kind: 'recovery',
      namespace: job.namespace,
      about: jobTitle(job),
      nodes: nodesOf(faults),
      startedAt,
      endedAt,
      outcome,
      because,
      by,
      endedBecause: null,
    };
  }
  const { incident, node, quarantinedAt, because, by, ended, systemUuid, remediations, remedy } = record;
  return {
    ...quarantineOf(node, { incident, because, by, since: Date.parse(quarantinedAt) }, ended),
    ...machineOf(systemUuid),
    ...(remediations && { remediations }),
    ...(remedy && { remedy: { state: remedy.outcome, because: remedy.because } }),
  };
}

/** Records of another version may have none, and so may a kubelet. */
export const machineOf = (systemUuid: string | undefined): Pick<IncidentSummary, 'machine'> =>
  systemUuid === undefined || systemUuid === '' ? {} : { machine: systemUuid };

/** The open quarantine with what its repair does now, which no record has yet. */
export function withProgress(one: IncidentSummary, progress: RemedyProgress | undefined): IncidentSummary {
  if (!progress || one.incident !== progress.incident) return one;
  const { phase, outcome, because, until, remediations } = progress;
  return { ...one, remediations, remedy: { state: outcome ?? phase, because, ...(until !== undefined && { until }) } };
}

/** A quarantine without a recorded end counts as open; `settleQuarantines` corrects that. */
export const quarantineOf = (
  node: string,
  { incident, because, by, since }: Pick<NodeQuarantine, 'incident' | 'because' | 'by' | 'since'>,
  ended: NodeRecord['ended'],
): IncidentSummary => ({
  incident,
  kind: 'quarantine',
  namespace: null,
  about: node,
  nodes: [node],
  startedAt: new Date(since).toISOString(),
  endedAt: ended?.at ?? null,
  outcome: ended?.outcome ?? 'open',
  because,
  by,
  endedBecause: ended?.because ?? null,
});

/**
 * Quarantines of one node with the end of each: duplicates of one incident are merged, and a node has one quarantine at a time, so all but
 * the newest have ended. `isRunning`: the node's workflow still runs.
 */
export function settleQuarantines(
  incidents: readonly IncidentSummary[],
  isRunning: boolean,
): readonly IncidentSummary[] {
  const byId = new Map<string, IncidentSummary>();
  for (const one of incidents) if (byId.get(one.incident)?.endedAt == null) byId.set(one.incident, one);
  const ordered = [...byId.values()].toSorted(newestFirst);
  return ordered.map((one, index): IncidentSummary => {
    if (one.endedAt !== null) return one;
    const next = ordered[index - 1];
    if (next) return { ...one, outcome: 'replaced', endedAt: next.startedAt, endedBecause: next.because };
    return isRunning ? one : { ...one, outcome: 'unknown' };
  });
}

export const newestFirst = (a: IncidentSummary, b: IncidentSummary): number => b.startedAt.localeCompare(a.startedAt);
