/** One JSON document for every incident, so that it outlives Temporal's retention. */

import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Activities } from '../contract/wire/activities.ts';
import { KcoverError } from '../contract/errors.ts';
import type { NodeRecord } from '../contract/node/nodes.ts';
import { inParallel } from '../kube/client/parallel.ts';
import { type RecordBounds, recordSweep } from './old-records.ts';

/** Stores documents by name; the same name again overwrites. Returns the address. */
export interface RecordStore {
  put(name: string, document: unknown): Promise<string>;
  /** Records of quarantines that began since then, ms. What is no record is left out. */
  quarantinesSince(since: number): Promise<readonly NodeRecord[]>;
  /** Removes what is too old or too much at `now` (ms), until `signal` aborts. Returns the number of records removed. */
  sweep(now: number, signal: AbortSignal): Promise<number>;
}

/** Ids contain slashes and colons. The result is unique, because these two are replaced by what ids never contain. */
export const recordFile = (name: string): string =>
  `${name
    .replaceAll('/', '_')
    .replaceAll(':', '')
    .replace(/[^\w.-]/g, '-')}.json`;

/** A directory of files; a reader never sees a partial one. Without bounds nothing is ever removed. */
export function directoryRecords(directory: string, bounds?: RecordBounds): RecordStore {
  const sweep = bounds && recordSweep(directory, bounds);
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
        // On a full disk a part would take the room that the next try needs.
        await unlink(draft).catch(() => undefined);
        throw new KcoverError(
          'records.unwritable',
          `write ${path}: ${error instanceof Error ? error.message : 'unknown failure'}`,
        );
      }
    },
    async quarantinesSince(since) {
      // Without the directory nothing was recorded yet.
      const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      });
      const late = names.filter((name) => (quarantinedAt(name) ?? -1) >= since);
      return (await inParallel(late, (name) => readQuarantine(join(directory, name)))).flatMap((one) => one ?? []);
    },
    sweep: async (now, signal) => (sweep ? sweep(now, signal) : 0),
  };
}

/** The time in the name of a record, so that old ones need not be read: `node_gpu-3_2026-11-21T070903.117Z.json`. */
function quarantinedAt(file: string): number | undefined {
  const [, day, hours, minutes, rest] =
    /^node_.{1,253}_(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\d\.\d{3}Z)\.json$/.exec(file) ?? [];
  const at = Date.parse(`${day}${hours}:${minutes}:${rest}`);
  return Number.isNaN(at) ? undefined : at;
}

async function readQuarantine(path: string): Promise<NodeRecord | undefined> {
  try {
    const document = JSON.parse(await readFile(path, 'utf8')) as Partial<NodeRecord> | null;
    const isRecord = typeof document?.incident === 'string' && typeof document.systemUuid === 'string';
    return isRecord && Array.isArray(document.faults) ? (document as NodeRecord) : undefined;
  } catch {
    return undefined;
  }
}

interface RecordDependencies {
  readonly records: RecordStore;
  readonly now: () => number;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** How often a worker looks for records to remove, and how long a look may hold up the end of an incident, ms. */
const sweeps = { everyMs: 3_600_000, withinMs: 2000 } as const;

export function recordActivities({ records, now, log }: RecordDependencies): Pick<Activities, 'recordIncident'> {
  let nextSweep = 0;

  async function removeOld(): Promise<void> {
    if (now() < nextSweep) return;
    nextSweep = now() + sweeps.everyMs;
    try {
      const removed = await records.sweep(now(), AbortSignal.timeout(sweeps.withinMs));
      if (removed > 0) log.info({ removed }, 'old records were removed');
    } catch (error) {
      log.warn({ error }, 'old records were not removed');
    }
  }

  return {
    async recordIncident(record) {
      const address = await records.put(record.incident, record);
      await removeOld();
      return { address };
    },
  };
}
