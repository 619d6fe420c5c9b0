/**
 * Reports that wait for the controller: on disk, so that they survive the agent, and in memory, so that a broken disk does not stop them.
 * Bounded: reports take at most half of `maxBytes`, the file at most all of it (half as much again while it is rewritten).
 * When it is full the oldest reports are dropped and counted. Not synced: after a crash of the machine another boot id tells streams apart.
 */

import { withDiskDeadline } from './files/disk-deadline.ts';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Fault } from '../contract/faults/faults.ts';
import type { Gap, Report } from '../contract/wire/reports.ts';
import { openDisk } from './spool/disk.ts';
import { encode, type JournalEntry, readJournal } from './spool/journal.ts';
import { emptyWaiting, type KeptGap, restore, type PendingReports } from './spool/waiting.ts';

/** The next things to send. */
export interface Pending {
  readonly stream: string;
  readonly reports: readonly Report[];
  /** Pass the number of the last accepted one to `forget`. */
  readonly gaps: readonly KeptGap[];
}

export interface SpoolStatus {
  readonly stream: string;
  readonly waiting: number;
  readonly dropped: number;
  /** Of the file. */
  readonly bytes: number;
  /** Gaps that were recorded since the start. */
  readonly gaps: ReadonlyMap<Gap['what'], number>;
  readonly onDisk: boolean;
}

export interface Spool {
  /** Resolves when it is on disk, or the disk has failed. Does not reject. */
  append(fault: Fault): Promise<void>;
  gap(gap: Gap): Promise<void>;
  pending(limit: { readonly reports: number; readonly bytes: number }): Pending;
  /** Everything up to these numbers was accepted. */
  forget(through: { readonly seq: number; readonly gap: number }): Promise<void>;
  /** Whether no report would be lost if this process ended now. */
  settled(): boolean;
  status(): SpoolStatus;
  /** Resolves when everything added so far has been written. */
  close(): Promise<void>;
}

export interface SpoolOptions {
  readonly directory: string;
  readonly maxBytes: number;
  readonly log: Logger;
  /** Called whenever there is something new to send. */
  readonly changed: () => void;
}

/** Below this size the file is not worth rewriting. */
const rewriteFrom = 64 * 1024;

export async function openSpool({ directory, maxBytes, log, changed }: SpoolOptions): Promise<Spool> {
  const found = await withDiskDeadline(readJournal(directory)).catch((error: unknown) => {
    log.error({ err: error, directory }, 'the spool cannot be read');
    return 'unreadable' as const;
  });
  const waiting: PendingReports = typeof found === 'object' ? restore(found.entries) : emptyWaiting();
  const disk = openDisk(directory, typeof found === 'object' ? found.bytes : 0, log);
  let stream = waiting.stream ?? randomUUID();
  let last: Promise<void> = Promise.resolve();

  /** Serialises changes, so that memory and file stay consistent. */
  const inTurn = (change: () => Promise<void>): Promise<void> => {
    last = last.then(change);
    return last;
  };
  const snapshot = (): string =>
    encode([{ stream, nextSeq: waiting.nextSeq, nextGap: waiting.nextGap }, ...waiting.entries()]);

  /** A failed disk starts a new stream: the old one, still on disk, would reuse its numbers after a restart. */
  function leaveDisk(): void {
    stream = randomUUID();
    waiting.addGap({ seenAt: new Date().toISOString(), what: 'spool-unwritable', lost: 0 });
  }

  /** Called after memory has changed. */
  async function write(entries: readonly JournalEntry[]): Promise<void> {
    const text = encode(entries);
    if (!disk.works) {
      if (disk.due(Date.now())) await disk.replace(snapshot());
      return;
    }
    const size = disk.bytes + Buffer.byteLength(text);
    const rewrite = size > maxBytes || (size > rewriteFrom && size > 4 * waiting.bytes);
    if (!(await (rewrite ? disk.replace(snapshot()) : disk.append(text)))) leaveDisk();
  }

  function makeSpace(): JournalEntry[] {
    const { count, seq } = waiting.dropOldest(maxBytes / 2);
    if (count === 0) return [];
    const gap = waiting.addGap({ seenAt: new Date().toISOString(), what: 'spool-full', lost: count });
    return [{ forget: { seq, gap: 0 } }, gap];
  }

  const begin = async (): Promise<void> => {
    const broken = typeof found === 'object' ? found.broken : 0;
    const headless = typeof found === 'object' && waiting.stream === undefined;
    if (broken > 0 || headless)
      waiting.addGap({ seenAt: new Date().toISOString(), what: 'state-lost', lost: headless ? 'unknown' : broken });
    makeSpace();
    // An intact file is rewritten too: that shows whether the disk can be written, and removes forgotten entries.
    if (!(await disk.replace(snapshot()))) leaveDisk();
    // An unreadable file has just been replaced: its reports are lost.
    else if (found === 'unreadable')
      await write([waiting.addGap({ seenAt: new Date().toISOString(), what: 'state-lost', lost: 'unknown' })]);
  };
  await inTurn(begin);

  return {
    append: (fault) =>
      inTurn(async () => {
        const report = waiting.take(fault);
        await write([{ report }, ...makeSpace()]);
        waiting.show(report.seq);
        changed();
      }),
    gap: (gap) =>
      inTurn(async () => {
        await write([waiting.addGap(gap)]);
        changed();
      }),
    pending: (limit) => ({ stream, ...waiting.first(limit) }),
    forget: (through) =>
      inTurn(async () => {
        waiting.forget(through);
        await write([{ forget: through }]);
      }),
    settled: () => disk.works || waiting.count === 0,
    status: () => ({
      stream,
      waiting: waiting.count,
      dropped: waiting.dropped,
      bytes: disk.bytes,
      gaps: waiting.gapsNoted,
      onDisk: disk.works,
    }),
    close: () => inTurn(async () => undefined),
  };
}
