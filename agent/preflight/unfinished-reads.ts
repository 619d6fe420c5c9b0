/**
 * Which report file is being read, noted on disk before it is parsed. If a defect makes a file end the agent, later starts know it and skip it;
 * otherwise every start would end before anything is reported. The agent may also be killed for other reasons, so a single end does not count.
 */

import { join } from 'node:path';
import { readOwnFile, replaceOwnFile } from '../files/own-file.ts';
import type { RankFile } from '../files/rank-files.ts';

export interface UnfinishedReads {
  /** The agent ended while it read this version, more than once. */
  endedAgent(file: RankFile): boolean;
  /** Reads while a note is on disk; without one where the disk cannot be written. */
  during<T>(file: RankFile, read: () => Promise<T>): Promise<T>;
  /** Forgets files that are gone or were rewritten. */
  keep(files: readonly RankFile[]): void;
}

const name = 'preflight-unfinished.json';
/** How often the agent ends in one version before it is skipped. */
const mostEnds = 2;

interface UnfinishedRead {
  readonly version: string;
  /** Reads of this version that began and did not finish. */
  readonly ends: number;
}

const isNote = (value: unknown): value is UnfinishedRead =>
  typeof value === 'object' &&
  value !== null &&
  'version' in value &&
  typeof value.version === 'string' &&
  'ends' in value &&
  Number.isInteger(value.ends);

function notesIn(text: string): readonly (readonly [string, UnfinishedRead])[] {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, note]: [string, unknown]) =>
    isNote(note) ? [[key, note] as const] : [],
  );
}

/** Starts empty when there is no such file, or it cannot be used. `unwritable` is called for each note that cannot be written. */
export async function loadUnfinishedReads(
  directory: string,
  unwritable: (error: unknown) => void,
): Promise<UnfinishedReads> {
  const ended = new Map(
    await readOwnFile(join(directory, name))
      .then(notesIn)
      .catch(() => []),
  );
  const endsOf = ({ key, version }: RankFile): number => {
    const note = ended.get(key);
    return note?.version === version ? note.ends : 0;
  };
  const write = (more: Readonly<Record<string, UnfinishedRead>>): Promise<void> =>
    replaceOwnFile(directory, name, JSON.stringify({ ...Object.fromEntries(ended), ...more })).catch(unwritable);

  return {
    endedAgent: (file) => endsOf(file) >= mostEnds,
    async during(file, read) {
      await write({ [file.key]: { version: file.version, ends: endsOf(file) + 1 } });
      try {
        return await read();
      } finally {
        ended.delete(file.key);
        await write({});
      }
    },
    keep(files) {
      const there = new Map(files.map(({ key, version }) => [key, version]));
      for (const [key, { version }] of ended) if (there.get(key) !== version) ended.delete(key);
    },
  };
}
