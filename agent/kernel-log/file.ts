/** A plain file in place of the device: the byte offset of a line is its sequence. */

import { stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { Begin, LogLine, LogSource } from './source.ts';

const chunk = 64 * 1024;
/** Longer lines are truncated; the rest of the line is skipped. */
const lineMost = 8 * 1024;
const newline = 0x0a;

/** Whether the path now leads to another file. A missing file may be about to be replaced. */
async function replaced(file: FileHandle, path: string): Promise<boolean> {
  const [open, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
  return there !== undefined && (there.ino !== open.ino || there.dev !== open.dev);
}

/** Follows the file by offset. Waits for the end of an incomplete last line. */
export async function readFileLines(file: FileHandle, path: string, begin: Begin): Promise<LogSource> {
  const buffer = Buffer.alloc(chunk);
  let next = begin === 'end' ? (await file.stat()).size : begin;
  // A line that is half written when reading begins at the end predates the start.
  let skipping = begin === 'end' && next > 0 && !(await endsLine(file, next));

  const takeLines = (bytes: Buffer): LogLine[] => {
    const lines: LogLine[] = [];
    let from = 0;
    const take = (end: number): void => {
      if (!skipping)
        lines.push({ raw: bytes.toString('utf8', from, Math.min(end, from + lineMost)), sequence: next + from });
      from = end + 1;
    };
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
      take(end);
      skipping = false;
    }
    // A chunk without a line end is one overlong line: use its beginning, skip the rest.
    if (from === 0 && bytes.length === buffer.length) {
      take(bytes.length);
      skipping = true;
    }
    if (skipping) from = bytes.length;
    next += from;
    return lines;
  };

  return {
    async look() {
      if ((await file.stat()).size < next) return { kind: 'restarted' };
      const { bytesRead } = await file.read(buffer, 0, buffer.length, next);
      const lines = takeLines(buffer.subarray(0, bytesRead));
      const more = lines.length > 0 || (skipping && bytesRead > 0);
      if (!more && (await replaced(file, path))) return { kind: 'restarted' };
      return { kind: 'lines', lines, next, more };
    },
    close: () => file.close(),
  };
}

async function endsLine(file: FileHandle, size: number): Promise<boolean> {
  const last = Buffer.alloc(1);
  await file.read(last, 0, 1, size - 1);
  return last[0] === newline;
}
