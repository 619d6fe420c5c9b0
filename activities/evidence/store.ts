/** Where evidence is stored: one directory for each incident, one in it for each attempt. */

import { createHash, randomUUID } from 'node:crypto';
import { mkdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { KcoverError } from '../../contract/errors.ts';
import type { EvidenceFile } from '../../contract/recovery/evidence.ts';
import { type EvidenceBounds, evidenceSweep } from './sweep.ts';
import { recordFile } from '../records.ts';

/** One attempt's evidence while it is gathered. It is not visible before it is closed. */
export interface EvidenceDraft {
  write(file: string, text: string): Promise<void>;
  /** Writes the index, and replaces earlier evidence of the same attempt. `digest`: SHA-256, hex. */
  close(index: readonly EvidenceFile[]): Promise<{ readonly address: string; readonly digest: string }>;
  discard(): Promise<void>;
}

/** Throws `records.unwritable` where nothing can be stored. */
export interface EvidenceStore {
  open(incident: string, attempt: number): Promise<EvidenceDraft>;
  /** Removes evidence that is too old or too large, until `signal` aborts; never the incident named `keep`. Returns the number of incidents removed. */
  sweep(keep: string, signal: AbortSignal): Promise<number>;
}

export const indexFile = 'index.json';

/** Relative to the directory of the store; named like the record of the incident. */
export const incidentDirectory = (incident: string): string => basename(recordFile(incident), '.json');
export const attemptDirectory = (incident: string, attempt: number): string =>
  join(incidentDirectory(incident), `attempt-${attempt}`);

/** A name that cannot leave the directory. */
const plain = /^\w[\w.-]{0,249}$/;

export interface DirectoryEvidence extends EvidenceBounds {
  readonly directory: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function directoryEvidence({ directory, keepMs, most, share, now }: DirectoryEvidence): EvidenceStore {
  const sweep = evidenceSweep(directory, { keepMs, most, share });
  return {
    async open(incident, attempt) {
      if (!plain.test(incidentDirectory(incident)))
        throw new KcoverError('records.unwritable', `${incident} cannot be the name of a directory`);
      if (!Number.isInteger(attempt) || attempt < 0)
        throw new KcoverError('records.unwritable', `${String(attempt).slice(0, 80)} is no attempt`);
      const target = join(directory, attemptDirectory(incident, attempt));
      const draft = join(
        directory,
        incidentDirectory(incident),
        `.attempt-${attempt}.${randomUUID().slice(0, 8)}.part`,
      );
      // Logs may contain secrets: owner and group only.
      await storing(draft, () => mkdir(draft, { recursive: true, mode: 0o750 }));
      return new DirectoryDraft(draft, target);
    },
    sweep: (keep, signal) => sweep({ keep: incidentDirectory(keep), now: now(), signal }),
  };
}

class DirectoryDraft implements EvidenceDraft {
  readonly #draft: string;
  readonly #target: string;
  readonly #digests = new Map<string, string>();

  constructor(draft: string, target: string) {
    this.#draft = draft;
    this.#target = target;
  }

  async write(file: string, text: string): Promise<void> {
    if (!plain.test(file) || file === indexFile)
      throw new KcoverError('records.unwritable', `${file} cannot be the name of a file`);
    const path = join(this.#draft, file);
    try {
      await storing(path, () => writeFile(path, text, { mode: 0o640 }));
    } catch (error) {
      await unlink(path).catch(() => undefined);
      throw error;
    }
    this.#digests.set(file, createHash('sha256').update(text).digest('hex'));
  }

  close(index: readonly EvidenceFile[]): Promise<{ address: string; digest: string }> {
    return storing(this.#target, async () => {
      await writeFile(join(this.#draft, indexFile), `${JSON.stringify(index, undefined, 2)}\n`, { mode: 0o640 });
      // A rename cannot replace a directory that is not empty.
      const old = `${this.#draft}.old`;
      await rename(this.#target, old).catch(unlessMissing);
      await rename(this.#draft, this.#target);
      await rm(old, { recursive: true, force: true });
      return { address: this.#target, digest: digestOf(this.#digests) };
    });
  }

  discard(): Promise<void> {
    return rm(this.#draft, { recursive: true, force: true });
  }
}

/** The output of `sha256sum` for all files, sorted by name, hashed once more: a reader can verify it with standard tools. */
export function digestOf(digests: ReadonlyMap<string, string>): string {
  const lines = [...digests].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([file, digest]) => `${digest}  ${file}\n`);
  return createHash('sha256').update(lines.join('')).digest('hex');
}

async function storing<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw new KcoverError(
      'records.unwritable',
      `write ${path}: ${error instanceof Error ? error.message : 'unknown failure'}`,
      {
        what: 'the evidence store cannot be written',
      },
    );
  }
}

function unlessMissing(error: unknown): void {
  if (typeof error !== 'object' || error === null || !('code' in error) || error.code !== 'ENOENT') throw error;
}
