/** Removes records that are too old, the oldest where there are too many, and what a write that was cut off left behind. */

import { lstat, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { inParallel } from '../kube/client/parallel.ts';

/** How long and how many records are kept. */
export interface RecordBounds {
  /** Since the last write; infinite: whatever their age. */
  readonly keepMs: number;
  /** Total bytes. */
  readonly most: number;
  /** Percentage of them that recoveries of one namespace may use. */
  readonly share: number;
  /** Quarantines that began within this time always stay: they convict a machine that fails again. */
  readonly memoryMs: number;
}

/** Removes what may go, until `signal` aborts; `now` in ms since the epoch. Returns the number of records removed. */
export type RecordSweep = (now: number, signal: AbortSignal) => Promise<number>;

/** Only files named like a record of kcover are removed: kcover does not own other files. */
const ours =
  /^(?:recovery_(?<namespace>[^_]+)_.*|node_(?<node>[^_]+))_(?<at>\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z)\.json(?<part>\.\d+\.[a-z\d]+\.part)?$/;

/** Most files that one sweep removes; the next finds the rest. */
const mostRemoved = 1000;

/** A record written this recently may be written again, and a part be a write that still runs, ms. */
const busyMs = 120_000;

interface StoredRecord {
  readonly name: string;
  /** Empty for quarantines. */
  readonly namespace: string;
  readonly node: string | undefined;
  readonly at: string;
}

/**
 * The rule for one directory. Which records there are and when they began is read from their names, so only their sizes are looked up, and each
 * only once: a sweep that ran out of time goes on where it stopped.
 */
export function recordSweep(directory: string, bounds: RecordBounds): RecordSweep {
  const sizes = new Map<string, number>();

  async function measure(records: readonly StoredRecord[], signal: AbortSignal): Promise<void> {
    const present = new Set(records.map(({ name }) => name));
    for (const name of sizes.keys()) if (!present.has(name)) sizes.delete(name);
    await inParallel(
      records.filter(({ name }) => !sizes.has(name)),
      async ({ name }) => {
        const size = signal.aborted ? undefined : (await written(directory, name))?.size;
        if (size !== undefined) sizes.set(name, size);
      },
    );
  }

  return async (now, signal) => {
    const { records, parts } = await filesIn(directory);
    await removeParts(directory, parts, now, signal);
    await measure(records, signal);
    const usage = new Usage(bounds);
    for (const { name, namespace } of records) usage.count(namespace, sizes.get(name) ?? 0);
    const newest = new Map(records.flatMap(({ node, name }) => (node === undefined ? [] : [[node, name] as const])));
    const oldest = stamp(now - bounds.keepMs);
    const remembered = stamp(now - bounds.memoryMs);
    let removed = 0;
    for (const record of records) {
      if (signal.aborted || removed >= mostRemoved) break;
      const isOld = record.at < oldest;
      if (!isOld && !usage.isTooMuch(record.namespace)) continue;
      if (record.node !== undefined && record.at >= remembered) continue;
      const changed = (await written(directory, record.name))?.mtimeMs ?? now;
      if (changed > now - busyMs || (!usage.isTooMuch(record.namespace) && changed >= now - bounds.keepMs)) continue;
      if (newest.get(record.node ?? '') === record.name && !(await hasEnded(join(directory, record.name)))) continue;
      await unlink(join(directory, record.name)).catch(unlessMissing);
      usage.count(record.namespace, -(sizes.get(record.name) ?? 0));
      removed += 1;
    }
    return removed;
  };
}

/** What the records use, in total and by namespace. */
class Usage {
  readonly #bounds: RecordBounds;
  readonly #byNamespace = new Map<string, number>();
  #all = 0;

  constructor(bounds: RecordBounds) {
    this.#bounds = bounds;
  }

  count(namespace: string, bytes: number): void {
    this.#all += bytes;
    this.#byNamespace.set(namespace, (this.#byNamespace.get(namespace) ?? 0) + bytes);
  }

  isTooMuch(namespace: string): boolean {
    const { most, share } = this.#bounds;
    const own = namespace === '' ? 0 : (this.#byNamespace.get(namespace) ?? 0);
    return this.#all > most || own > (most * share) / 100;
  }
}

/** The records, oldest first, and parts. Links and directories are neither. */
async function filesIn(
  directory: string,
): Promise<{ readonly records: readonly StoredRecord[]; readonly parts: readonly string[] }> {
  const records: StoredRecord[] = [];
  const parts: string[] = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const { namespace = '', node, at, part } = ours.exec(entry.name)?.groups ?? {};
    if (at === undefined || !entry.isFile()) continue;
    if (part === undefined) records.push({ name: entry.name, namespace, node, at });
    else parts.push(entry.name);
  }
  return { records: records.toSorted((a, b) => (a.at < b.at ? -1 : 1)), parts };
}

/** A process that was killed while it wrote leaves a part, which no other process continues. */
async function removeParts(
  directory: string,
  parts: readonly string[],
  now: number,
  signal: AbortSignal,
): Promise<void> {
  for (const name of parts.slice(0, mostRemoved)) {
    if (signal.aborted) return;
    const changed = (await written(directory, name))?.mtimeMs ?? now;
    if (changed <= now - busyMs) await unlink(join(directory, name)).catch(unlessMissing);
  }
}

/** A quarantine is recorded when it begins and again when it ends. What cannot be read counts as open. */
async function hasEnded(path: string): Promise<boolean> {
  try {
    const document: unknown = JSON.parse(await readFile(path, 'utf8'));
    return typeof document === 'object' && document !== null && 'ended' in document;
  } catch {
    return false;
  }
}

/** Size and time of the last write; undefined where another worker has removed the file. */
const written = (directory: string, name: string) => lstat(join(directory, name)).catch(unlessMissing);

/** A time as it stands in the names of records; one before all of them for a rule that reaches further back than dates do. */
const stamp = (ms: number): string =>
  ms > 0 && Number.isFinite(ms) ? new Date(ms).toISOString().replaceAll(':', '') : '';

function unlessMissing(error: unknown): undefined {
  if (typeof error !== 'object' || error === null || !('code' in error) || error.code !== 'ENOENT') throw error;
  return undefined;
}
