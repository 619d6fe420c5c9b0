/** Finds the record of a recovery in a directory of records or in Temporal. */

import type { Client } from '@temporalio/client';
import { join } from 'node:path';
import { recordFile } from '../../activities/records.ts';
import { KcoverError } from '../../contract/errors.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { readRecord } from '../incidents/records.ts';

export interface RecordSearch {
  readonly incident: string;
  readonly records: string | undefined;
  /** Connects only when the directory does not have the record. */
  readonly temporal: () => Promise<Client>;
}

/** Undefined when neither has the record, or the recovery has not ended. */
export async function findRecord({ incident, records, temporal }: RecordSearch): Promise<IncidentRecord | undefined> {
  if (!/^recovery\/./.test(incident))
    throw new KcoverError('usage', `${incident} is not the id of a recovery`, {
      remedy: 'kcover incidents lists them: recovery/<namespace>/<job>/<uid>/<time>',
    });
  const kept = records === undefined ? undefined : await readRecord(join(records, recordFile(incident)));
  if (kept && 'job' in kept && kept.incident === incident) return kept;
  const { recordInTemporal } = await import('../incidents/temporal.ts');
  return recordInTemporal(await temporal(), incident);
}
