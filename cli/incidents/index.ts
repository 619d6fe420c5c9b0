/** Incidents of jobs and nodes: from Temporal, and from a directory of records where one is given, which outlives Temporal's retention. */

import type { Client } from '@temporalio/client';
import { parseDuration } from '../../contract/settings/duration.ts';
import { KcoverError } from '../../contract/errors.ts';
import { type IncidentSummary, isWanted, newestFirst, type IncidentFilter, withProgress } from './incident.ts';

export interface Search {
  readonly wanted: IncidentFilter;
  readonly limit: number;
  /** Directory of a worker's records. */
  readonly records?: string | undefined;
}

/** Newest first. An incident that Temporal still has is taken from there, not from its record. */
export async function findIncidents(
  client: Client,
  { wanted, limit, records }: Search,
): Promise<readonly IncidentSummary[]> {
  const { quarantinesInTemporal, recoveriesInTemporal } = await import('./temporal.ts');
  const { incidentsInRecords } = await import('./records.ts');
  const aboutJobs = wanted.job !== undefined || wanted.namespace !== undefined;
  const [recorded, recoveries, quarantines] = await Promise.all([
    records === undefined ? [] : incidentsInRecords(records),
    recoveriesInTemporal(client, wanted, limit),
    aboutJobs ? [] : quarantinesInTemporal(client, wanted),
  ]);
  return chosen([...recorded, ...recoveries, ...quarantines], { wanted, limit });
}

/** Quarantines of one node, or of all, newest first. */
export async function findQuarantines(
  client: Client,
  { wanted, limit, records }: Search,
): Promise<readonly IncidentSummary[]> {
  const { progressOfNode, quarantinesInTemporal } = await import('./temporal.ts');
  const { incidentsInRecords } = await import('./records.ts');
  const [recorded, known, progress] = await Promise.all([
    records === undefined ? [] : incidentsInRecords(records),
    quarantinesInTemporal(client, wanted),
    wanted.node === undefined ? undefined : progressOfNode(client, wanted.node),
  ]);
  const all = [...recorded.filter(({ kind }) => kind === 'quarantine'), ...known];
  return chosen(all, { wanted, limit }).map((one) => withProgress(one, progress));
}

function chosen(all: readonly IncidentSummary[], { wanted, limit }: Search): readonly IncidentSummary[] {
  const byId = new Map(all.map((one) => [one.incident, one]));
  return [...byId.values()]
    .filter((one) => isWanted(one, wanted))
    .toSorted(newestFirst)
    .slice(0, limit);
}

/** The time that lies a duration such as `24h` before now, ms; 0 without a duration. */
export function sinceOf(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const past = parseDuration(text);
  if (past === undefined)
    throw new KcoverError('usage', `--since ${text} is not a duration`, { remedy: '--since 30m, 24h or 7d' });
  return Math.max(0, now - past);
}

export function limitOf(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new KcoverError('usage', `--limit ${text} is not a whole number from 1 to 99999`, { remedy: '--limit 50' });
}
