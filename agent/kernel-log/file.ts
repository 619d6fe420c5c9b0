/** A plain file that stands in for the device: the byte offset of a line is its sequence. */

import { stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { Begin, LogLine, LogSource } from './source.ts';

const chunk = 64 * 1024;
/** What is longer is cut; the rest of the line is passed over. */
const lineMost = 8 * 1024;
const newline = 0x0a;

/** Whether the path leads to another file by now. One that is missing for a moment may be about to be replaced. */
async function replaced(file: FileHandle, path: string): Promise<boolean> {
  const [open, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
  return there !== undefined && (there.ino !== open.ino || there.dev !== open.dev);
}

/** Follows the file by offset. A last line without its end is waited for. */
export async function readFileLines(file: FileHandle, path: string, begin: Begin): Promise<LogSource> {
  const buffer = Buffer.alloc(chunk);
  let next = begin === 'end' ? (await file.stat()).size : begin;
  // A line that is half written when we begin at the end was begun before us.
  let skipping = begin === 'end' && next > 0 && !(await endsLine(file, next));

  const takeLines = (bytes: Buffer): LogLine[] => {
    const lines: LogLine[] = [];
    let from = 0;
    const take = (end: number): void => {
      if (!skipping) lines.push({ raw: bytes.toString('utf8', from, Math.min(end, from + lineMost)), sequence: next + from });
      from = end + 1;
    };
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
      take(end);
      skipping = false;
    }
    // A chunk without an end is one overlong line: judge its beginning, pass over the rest.
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
