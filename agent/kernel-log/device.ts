/**
 * The device /dev/kmsg: one record for each read(2), EAGAIN when there is none, EPIPE when records were overwritten unread.
 *
 * It is opened non-blocking and polled every few milliseconds (`follow.ts`). Node's streams would block a thread of the pool in an
 * endless read (four idle readers stop all file access), and Node has no poll(2) for a device. Non-blocking reads only copy memory,
 * so they are done synchronously, which is cheaper than a trip through the thread pool for each record.
 */

import { readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { parseKernelLine } from '../../faults/kernel/line.ts';
import { systemErrorCode } from '../system-error.ts';
import type { Begin, LogLine, LogSource } from './source.ts';

/** The kernel truncates a record to 8 KiB, including escapes. */
const recordMost = 16 * 1024;
/** Most records of one read, so that a full log does not block everything else. */
const perLook = 512;

type Record = { readonly kind: 'record'; readonly raw: string } | { readonly kind: 'none' | 'overrun' | 'too-large' };

function readRecord(fd: number, buffer: Buffer): Record {
  try {
    const length = readSync(fd, buffer, 0, buffer.length, null);
    return length === 0 ? { kind: 'none' } : { kind: 'record', raw: buffer.toString('utf8', 0, length) };
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'EAGAIN' || code === 'EINTR') return { kind: 'none' };
    if (code === 'EPIPE') return { kind: 'overrun' };
    if (code === 'EINVAL') return { kind: 'too-large' };
    throw error;
  }
}

/** Reads one record after the other. `read` is a parameter for tests, which cannot cause a real overrun. */
export function readDevice(
  file: FileHandle,
  begin: Begin,
  seen: (line: string) => void,
  read: (buffer: Buffer) => Record = (buffer) => readRecord(file.fd, buffer),
): LogSource {
  const buffer = Buffer.alloc(recordMost);
  let next = begin === 'end' ? 0 : begin;
  let skipping = begin === 'end';
  // The first record may be beyond `begin`: those in between were overwritten unread.
  let broken = begin !== 'end' && begin > 0;

  return {
    async look() {
      const lines: LogLine[] = [];
      let lost = 0;
      for (let count = 0; count < perLook; count++) {
        const record = read(buffer);
        if (record.kind === 'none') {
          skipping = false;
          return { kind: 'lines', lines, next, more: false, ...(lost > 0 && { lost }) };
        }
        if (record.kind === 'overrun') broken = true;
        if (record.kind === 'too-large') lost++;
        if (record.kind !== 'record') continue;

        const { sequence } = parseKernelLine(record.raw);
        if (sequence === undefined) continue;
        if (sequence < next || skipping) {
          seen(record.raw);
          broken = false; // one we knew is still there: nothing was overwritten in between
          next = Math.max(next, sequence + 1);
          continue;
        }
        if (broken) lost += sequence - next;
        broken = false;
        next = sequence + 1;
        lines.push({ raw: record.raw, sequence });
      }
      return { kind: 'lines', lines, next, more: true, ...(lost > 0 && { lost }) };
    },
    close: () => file.close(),
  };
}
