/** The record of one recovery, from a directory of records or from Temporal. */

import type { Client } from '@temporalio/client';
import { join } from 'node:path';
import { recordFile } from '../../activities/records.ts';
import { KcoverError } from '../../contract/errors.ts';
import type { IncidentRecord } from '../../contract/recovery.ts';
import { readRecord } from '../incidents/records.ts';

export interface RecordSearch {
  readonly incident: string;
  readonly records: string | undefined;
  /** Asked only for what the records do not hold. */
  readonly temporal: () => Promise<Client>;
}

/** Undefined when nobody has it, or when the recovery has not ended. */
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
