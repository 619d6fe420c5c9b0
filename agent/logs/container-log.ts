/**
 * Follows the log of one container as the kubelet keeps it: `<pod directory>/<container>/<n>.log`, where n counts the restarts of the container. Rotation renames
 * the file and opens a new one of the old name. A runtime creates the new file before it has written its last lines to the old one (containerd's
 * ReopenContainerLog), so the old file is read to its end once more in the next look, and nothing is lost between the two.
 */

import type { FileHandle } from 'node:fs/promises';
import { KcoverError } from '../../contract/errors.ts';
import { type HostListing, listHostDirectory, openHostFile } from '../host-root.ts';
import { openLines } from './lines.ts';

/** What was read since the last look. */
export interface LogLook {
  /** Restarts of the container before this one. */
  readonly run: number;
  /** Without line breaks. */
  readonly lines: readonly string[];
  /** Bytes that were skipped, because the container writes faster than is read. */
  readonly skipped: number;
}

export interface ContainerLog {
  /** Reads at most about this many bytes. Throws `not-found` or `refused` while there is nothing to read. */
  look(bytes: number): Promise<LogLook>;
  close(): Promise<void>;
}

interface OpenRun {
  readonly run: number;
  readonly file: FileHandle;
  readonly ino: number;
  position: number;
}

/** Where reading begins in a log that is followed for the first time: this many bytes before its end. */
const tailBytes = 64 * 1024;
/** What lies further behind is skipped, up to the tail. */
const mostBehind = 8 * 1024 * 1024;
/** A kubelet keeps a handful of files for a container. */
const mostNames = 100;

const runName = /^(?<run>0|[1-9]\d{0,8})\.log$/;

/** `directory`: of the container, below the host root. `buffer`: used only during a look. */
export function openContainerLog(hostRoot: string, directory: string, buffer: Buffer): ContainerLog {
  const lines = openLines();
  let current: OpenRun | undefined;
  /** Open already, and read once the present file ended again. */
  let next: OpenRun | undefined;

  async function open(run: number, from: 'tail' | 'start'): Promise<OpenRun> {
    const file = await openHostFile(hostRoot, `${directory}/${run}.log`);
    const { ino, size } = await file.stat();
    return { run, file, ino, position: from === 'start' ? 0 : Math.max(0, size - tailBytes) };
  }

  /** Skips what is too far behind. Returns the number of bytes. */
  function skipTo(reading: OpenRun, size: number): number {
    // Truncated, which kubelets do not do.
    if (size < reading.position) reading.position = 0;
    const behind = size - reading.position;
    if (behind <= mostBehind) return 0;
    reading.position = size - tailBytes;
    lines.begin(true);
    return behind - tailBytes;
  }

  async function read(reading: OpenRun, most: number): Promise<{ lines: string[]; skipped: number; ended: boolean }> {
    const skipped = skipTo(reading, (await reading.file.stat()).size);
    const found: string[] = [];
    for (let left = most; left > 0;) {
      const { bytesRead } = await reading.file.read(buffer, 0, Math.min(left, buffer.length), reading.position);
      if (bytesRead === 0) return { lines: found, skipped, ended: true };
      reading.position += bytesRead;
      left -= bytesRead;
      for (const line of lines.take(buffer.subarray(0, bytesRead))) found.push(line);
    }
    return { lines: found, skipped, ended: false };
  }

  function begin(opened: OpenRun): OpenRun {
    current = opened;
    lines.begin(opened.position > 0);
    return opened;
  }

  /** Goes on after the end of a file: with that of a rotation, or of the next container. */
  async function advance(reading: OpenRun, listing: HostListing | undefined): Promise<void> {
    if (next) {
      begin(next);
      next = undefined;
      return reading.file.close();
    }
    const newest = listing && newestOf(listing);
    const isSame = newest === undefined || (newest.run === reading.run && newest.ino === reading.ino);
    if (!isSame && newest.run >= reading.run) next = await open(newest.run, 'start');
  }

  return {
    async look(bytes) {
      const listing = await listHostDirectory(hostRoot, directory, mostNames, (name) => runName.test(name)).catch(
        (error: unknown) => {
          // The directory of a deleted pod goes before the last lines were read.
          if (current && error instanceof KcoverError && error.code === 'not-found') return undefined;
          throw error;
        },
      );
      const newest = listing && newestOf(listing);
      const reading = current ?? (newest && begin(await open(newest.run, 'tail')));
      if (!reading) throw new KcoverError('not-found', `${directory}: it has no log yet`);
      const { ended, ...found } = await read(reading, bytes);
      try {
        if (ended) await advance(reading, listing);
      } catch (error) {
        // What was read counts; a next file that still cannot be opened is the error of a look that reads nothing.
        if (found.lines.length === 0) throw error;
      }
      return { run: reading.run, ...found };
    },
    async close() {
      await Promise.all([current?.file.close(), next?.file.close()]);
      [current, next] = [undefined, undefined];
    },
  };
}

function newestOf({ entries }: HostListing): { readonly run: number; readonly ino: number } | undefined {
  const runs = entries.map(({ name, stats }) => ({ run: Number(runName.exec(name)?.groups?.['run']), ino: stats.ino }));
  return runs.toSorted((a, b) => b.run - a.run)[0];
}
