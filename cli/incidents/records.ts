/** Incidents from the record store, which keeps them longer than Temporal. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KcoverError } from '../../contract/errors.ts';
import type { NodeRecord } from '../../contract/node/nodes.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { inParallel } from '../../kube/client/parallel.ts';
import { fromRecord, type IncidentSummary, settleQuarantines } from './incident.ts';

/** All records in a directory, in no order. Other files are skipped. */
export async function recordsIn(directory: string): Promise<readonly (IncidentRecord | NodeRecord)[]> {
  return (await inParallel(await filesIn(directory), readRecord)).flatMap((record) => record ?? []);
}

/** All incidents in a directory of records. */
export async function incidentsInRecords(directory: string): Promise<readonly IncidentSummary[]> {
  const found = (await recordsIn(directory)).map(fromRecord);
  const quarantines = found.filter(({ kind }) => kind === 'quarantine');
  const nodes = new Set(quarantines.map(({ about }) => about));
  return [
    ...found.filter(({ kind }) => kind === 'recovery'),
    ...[...nodes].flatMap((node) =>
      settleQuarantines(
        quarantines.filter(({ about }) => about === node),
        false,
      ),
    ),
  ];
}

async function filesIn(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith('.json')).map((name) => join(directory, name));
  } catch (error) {
    throw unreadable(directory, error);
  }
}

export const unreadable = (directory: string, error: unknown): KcoverError =>
  new KcoverError(
    'file.unreadable',
    `read ${directory}: ${error instanceof Error ? error.message : 'unknown failure'}`,
    {
      what: 'the records cannot be read',
      remedy: 'name the directory that records.directory of the worker names',
    },
  );

/** One record; undefined when the file does not exist or is no record. */
export async function readRecord(file: string): Promise<IncidentRecord | NodeRecord | undefined> {
  try {
    return asRecord(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return undefined;
  }
}

/** Undefined for what is no record of an incident. */
export const asRecord = (document: unknown): IncidentRecord | NodeRecord | undefined =>
  isRecord(document) ? document : undefined;

const isRecord = (document: unknown): document is IncidentRecord | NodeRecord =>
  typeof document === 'object' &&
  document !== null &&
  'schema' in document &&
  document.schema === 1 &&
  'incident' in document &&
  ('quarantinedAt' in document || ('job' in document && 'phases' in document));
