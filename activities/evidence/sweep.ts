/** Removes evidence that is too old, and the oldest where there is too much, in total or for one namespace. */

import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { inParallel } from '../../kube/client/parallel.ts';

export interface EvidenceBounds {
  readonly keepMs: number;
  /** Total bytes. */
  readonly most: number;
  /** Percentage of them that one namespace may use. */
  readonly share: number;
}

export interface Sweep {
  /** The directory of an incident that is not removed. */
  readonly keep: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Only directories named like an incident of kcover are removed: kcover does not own other directories. */
const ours = /^recovery_(?<namespace>[^_]+)_.*_(?<at>\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z)$/;

/** Bounds of one sweep for old evidence; the next sweep finds the rest. */
const swept = { looked: 50, removed: 5 } as const;

/** A directory changed this recently may be in use, ms. */
const busyMs = 120_000;

interface StoredIncident {
  readonly name: string;
  readonly namespace: string;
  readonly at: string;
}

/** Returns the number of incidents removed. It remembers measured sizes, so a sweep that ran out of time goes on where it stopped. */
export function evidenceSweep(
  directory: string,
  { keepMs, most, share }: EvidenceBounds,
): (sweep: Sweep) => Promise<number> {
  const sizes = new Map<string, { readonly mtimeMs: number; readonly bytes: number }>();

  async function remove(name: string): Promise<void> {
    await rm(join(directory, name), { recursive: true, force: true });
    sizes.delete(name);
  }

  async function removeOld(incidents: readonly StoredIncident[], { now, signal }: Sweep): Promise<number> {
    const before = now - keepMs;
    const oldest = new Date(before).toISOString().replaceAll(':', '');
    let removed = 0;
    for (const { name } of incidents.filter(({ at }) => at < oldest).slice(0, swept.looked)) {
      if (signal.aborted || removed >= swept.removed) break;
      // An old incident may have been added to just now.
      if ((await stat(join(directory, name))).mtimeMs >= before) continue;
      await remove(name);
      removed += 1;
    }
    return removed;
  }

  async function measure({ name }: StoredIncident, keep: boolean): Promise<number> {
    const { mtimeMs } = await stat(join(directory, name));
    const known = sizes.get(name);
    if (known?.mtimeMs === mtimeMs && !keep) return known.bytes;
    const bytes = await bytesBelow(join(directory, name));
    sizes.set(name, { mtimeMs, bytes });
    return bytes;
  }

  async function removeExcess(incidents: readonly StoredIncident[], { keep, now, signal }: Sweep): Promise<number> {
    const all = { bytes: 0 };
    const byNamespace = new Map<string, number>();
    const count = (namespace: string, bytes: number): void => {
      all.bytes += bytes;
      byNamespace.set(namespace, (byNamespace.get(namespace) ?? 0) + bytes);
    };
    for (const incident of incidents) {
      if (signal.aborted) return 0;
      count(incident.namespace, await measure(incident, incident.name === keep));
    }
    const isTooMuch = (namespace: string): boolean =>
      all.bytes > most || (byNamespace.get(namespace) ?? 0) > (most * share) / 100;
    let removed = 0;
    for (const { name, namespace } of incidents) {
      if (signal.aborted) break;
      const { mtimeMs = 0, bytes = 0 } = sizes.get(name) ?? {};
      if (name === keep || mtimeMs > now - busyMs || !isTooMuch(namespace)) continue;
      await remove(name);
      count(namespace, -bytes);
      removed += 1;
    }
    return removed;
  }

  return async (sweep) => {
    const old = await removeOld(
      (await incidentsOf(directory)).filter(({ name }) => name !== sweep.keep),
      sweep,
    );
    return old + (await removeExcess(await incidentsOf(directory), sweep));
  };
}

/** Oldest first. */
async function incidentsOf(directory: string): Promise<readonly StoredIncident[]> {
  const found = (await readdir(directory)).flatMap((name): StoredIncident[] => {
    const { namespace = '', at } = ours.exec(name)?.groups ?? {};
    return at === undefined ? [] : [{ name, namespace, at }];
  });
  return found.toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

async function bytesBelow(directory: string): Promise<number> {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const sizes = await inParallel(files, ({ parentPath, name }) =>
    stat(join(parentPath, name)).then(
      ({ size }) => size,
      // The directory was renamed or removed meanwhile.
      () => 0,
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
