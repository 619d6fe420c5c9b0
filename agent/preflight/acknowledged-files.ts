/** Which report files have been answered, stored across restarts of the agent. If it is lost, files are only sent again. */

import { join } from 'node:path';
import { readOwnFile, replaceOwnFile } from '../files/own-file.ts';
import type { RankFile } from '../files/rank-files.ts';

/** Most files that are stored; the last answered ones. */
const most = 20_000;

export interface AcknowledgedFiles {
  has(file: RankFile): boolean;
  add(file: RankFile): void;
  /** Forgets files that are gone. */
  keep(files: readonly RankFile[]): void;
  /** Replaces the whole file if something has changed. Rejects when it cannot be written. */
  save(): Promise<void>;
}

const name = 'preflight.json';

function versionsIn(text: string): readonly (readonly [string, string])[] {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, version]: [string, unknown]) =>
    typeof version === 'string' ? [[key, version] as const] : [],
  );
}

/** Empty when there is no such file, or it cannot be used. */
export async function loadAcknowledgedFiles(directory: string): Promise<AcknowledgedFiles> {
  const versions = new Map(
    await readOwnFile(join(directory, name))
      .then(versionsIn)
      .catch(() => []),
  );
  let changed = false;

  return {
    has: ({ key, version }) => versions.get(key) === version,
    add({ key, version }) {
      versions.delete(key); // so that it comes last
      versions.set(key, version);
      changed = true;
    },
    keep(files) {
      const there = new Set(files.map(({ key }) => key));
      for (const key of versions.keys()) if (!there.has(key)) changed = versions.delete(key) || changed;
    },
    async save() {
      if (!changed) return;
      await replaceOwnFile(directory, name, JSON.stringify(Object.fromEntries([...versions].slice(-most))));
      changed = false;
    },
  };
}
