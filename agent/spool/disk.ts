/** Writes to the journal that neither throw nor hang, because a node's disk may fail. */

import type { Logger } from 'pino';
import { withDiskDeadline } from '../files/disk-deadline.ts';
import { appendJournal, replaceJournal } from './journal.ts';

/** After a failure no write is attempted for this time. */
const againMs = 5000;

export interface Disk {
  /** Whether the last write succeeded. */
  readonly works: boolean;
  readonly bytes: number;
  /** False when it was not written. After a failure only whole replacements are attempted: an append may have left half a line. */
  append(text: string): Promise<boolean>;
  replace(text: string): Promise<boolean>;
  /** Whether a replacement should be attempted now. */
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
      if (works) log.error({ err: error, directory }, 'the spool cannot be written; reports are kept in memory');
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
