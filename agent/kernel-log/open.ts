/** Opens the kernel log, a device or a plain file. */

import { watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { openHostFile } from '../host-root.ts';
import { readDevice } from './device.ts';
import { readFileLines } from './file.ts';
import type { Begin, LogSource } from './source.ts';

/** A device can only be polled: 50 ms of delay for 20 system calls a second. */
const devicePollMs = 50;
/** A file is watched; polling as well covers lost watches. */
const filePollMs = 250;

export interface OpenedLog {
  readonly source: LogSource;
  /** Read again after this time, or earlier on a change. */
  readonly pollMs: number;
  close(): Promise<void>;
}

export interface OpenLog {
  readonly hostRoot: string;
  readonly path: string;
  readonly begin: Begin;
  /** An old line that is skipped. */
  readonly seen: (line: string) => void;
  /** There may be new lines. */
  readonly changed: () => void;
}

/** Throws as `openHostFile` does. */
export async function openKernelLog({ hostRoot, path, begin, seen, changed }: OpenLog): Promise<OpenedLog> {
  const file = await openHostFile(hostRoot, path, { device: true });
  try {
    if ((await file.stat()).isCharacterDevice()) {
      const source = readDevice(file, begin, seen);
      return { source, pollMs: devicePollMs, close: () => source.close() };
    }
    const source = await readFileLines(file, join(hostRoot, path), begin);
    const unwatch = watchFile(file, changed);
    return {
      source,
      pollMs: filePollMs,
      close: () => {
        unwatch();
        return source.close();
      },
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Watches this file itself, whatever its path leads to now. Without inotify only polling remains. */
function watchFile(file: FileHandle, changed: () => void): () => void {
  try {
    const watcher = watch(`/proc/self/fd/${file.fd}`, { persistent: false }, changed);
    watcher.on('error', () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => undefined;
  }
}
