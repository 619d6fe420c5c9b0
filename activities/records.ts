/** One JSON document for every incident, so that it outlives Temporal's retention. */

import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Activities } from '../contract/wire/activities.ts';
import { KcoverError } from '../contract/errors.ts';

/** Stores documents by name; the same name again overwrites. Returns the address. */
export interface RecordStore {
  put(name: string, document: unknown): Promise<string>;
}

/** Ids contain slashes and colons. The result is unique, because these two are replaced by what ids never contain. */
export const recordFile = (name: string): string =>
  `${name
    .replaceAll('/', '_')
    .replaceAll(':', '')
    .replace(/[^\w.-]/g, '-')}.json`;

/** A directory of files; a reader never sees a partial one. */
export function directoryRecords(directory: string): RecordStore {
  return {
    async put(name, document) {
      const path = join(directory, recordFile(name));
      const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.part`;
      try {
        await mkdir(directory, { recursive: true });
        await using file = await open(draft, 'w', 0o644);
        await file.writeFile(`${JSON.stringify(document, undefined, 2)}\n`);
        await file.sync();
        await rename(draft, path);
        return path;
      } catch (error) {
        throw new KcoverError(
          'records.unwritable',
          `write ${path}: ${error instanceof Error ? error.message : 'unknown failure'}`,
        );
      }
    },
  };
}

export function recordActivities({ records }: { readonly records: RecordStore }): Pick<Activities, 'recordIncident'> {
  return { recordIncident: async (record) => ({ address: await records.put(record.incident, record) }) };
}
