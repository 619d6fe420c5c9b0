/** Writes to the journal that never throw and never hang: a node's disk is one of the things that break. */

import type { Logger } from 'pino';
import { withDiskDeadline } from '../disk-deadline.ts';
import { appendJournal, replaceJournal } from './journal.ts';

/** After a failure the disk is left alone this long. */
const againMs = 5000;

export interface Disk {
  /** Whether the last write was done. */
  readonly works: boolean;
  readonly bytes: number;
  /** False when it was not written. Only whole replacements are tried again after a failure: an append may have left half a line. */
  append(text: string): Promise<boolean>;
  replace(text: string): Promise<boolean>;
  /** Whether a replacement should be tried now. */
  due(now: number): boolean;
}

export function openDisk(directory: string, bytesFound: number, log: Logger): Disk {
  let works = true;
  let bytes = bytesFound;
  let failedAt = 0;
  let hangs = false;

  async function attempt(write: () => Promise<void>): Promise<boolean> {
    hangs = true;
    const writing = write().finally(() => {
      hangs = false;
    });
    try {
      await withDiskDeadline(writing);
      if (!works) log.info({ directory }, 'the spool is written to disk again');
      works = true;
    } catch (error) {
      if (works) log.error({ err: error, directory }, 'the spool cannot be written; reports go on from memory');
      works = false;
      failedAt = Date.now();
    }
    return works;
  }

  return {
    get works() {
      return works;
    },
    get bytes() {
      return bytes;
    },
    due: (now) => !hangs && now - failedAt >= againMs,
    async append(text) {
      if (!(await attempt(() => appendJournal(directory, text)))) return false;
      bytes += Buffer.byteLength(text);
      return true;
    },
    async replace(text) {
      if (!(await attempt(() => replaceJournal(directory, text)))) return false;
      bytes = Buffer.byteLength(text);
      return true;
    },
  };
}
