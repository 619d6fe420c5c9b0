/**
 * Which report file is being read right now, noted on disk before its text is touched. A file that ends the agent, by whatever defect, is so
 * known to the next start, which passes it over: else it would end every start before anything is reported.
 */

import { join } from 'node:path';
import { readOwnFile, replaceOwnFile } from '../own-file.ts';
import type { RankFile } from '../rank-files.ts';

export interface Begun {
  /** The agent ended while it read this version. */
  endedUs(file: RankFile): boolean;
  /** Reads with a note on disk for as long as that takes; without one where the disk cannot be written. */
  during<T>(file: RankFile, read: () => Promise<T>): Promise<T>;
  /** Forgets files that are gone or were written anew. */
  keep(files: readonly RankFile[]): void;
}

const name = 'preflight-begun.json';

function notesIn(text: string): readonly (readonly [string, string])[] {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, version]: [string, unknown]) => (typeof version === 'string' ? [[key, version] as const] : []));
}

/** Begins with nothing when there is no such file, or it cannot be used. `unwritable` hears of each note that cannot be written. */
export async function loadBegun(directory: string, unwritable: (error: unknown) => void): Promise<Begun> {
  const ended = new Map(
    await readOwnFile(join(directory, name))
      .then(notesIn)
      .catch(() => []),
  );
  const write = (more: readonly RankFile[]): Promise<void> =>
    replaceOwnFile(directory, name, JSON.stringify(Object.fromEntries([...ended, ...more.map(({ key, version }) => [key, version])]))).catch(unwritable);

  return {
    endedUs: ({ key, version }) => ended.get(key) === version,
    async during(file, read) {
      await write([file]);
      try {
        return await read();
      } finally {
        await write([]);
      }
    },
    keep(files) {
      const there = new Map(files.map(({ key, version }) => [key, version]));
      for (const [key, version] of ended) if (there.get(key) !== version) ended.delete(key);
    },
  };
}
