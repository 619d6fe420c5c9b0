/** The position that the follower stores across restarts of the agent, so that no line is processed twice. */

import { withDiskDeadline } from '../files/disk-deadline.ts';
import { join } from 'node:path';
import { readOwnFile, replaceOwnFile } from '../files/own-file.ts';
import { systemErrorCode } from '../system-error.ts';

/** Where to continue: after the last line that was read. */
export interface Position {
  readonly bootId: string;
  /** First unread sequence: record number, or byte offset in a plain file. */
  readonly next: number;
}

const name = 'kernel-log.json';

function isPosition(value: unknown): value is Position {
  if (typeof value !== 'object' || value === null || !('bootId' in value) || !('next' in value)) return false;
  return typeof value.bootId === 'string' && Number.isSafeInteger(value.next) && Number(value.next) >= 0;
}

/** `absent`: never written. `unusable`: written, but it cannot be read. */
export async function loadPosition(directory: string): Promise<Position | 'absent' | 'unusable'> {
  try {
    const value: unknown = JSON.parse(await withDiskDeadline(readOwnFile(join(directory, name))));
    return isPosition(value) ? value : 'unusable';
  } catch (error) {
    const code = systemErrorCode(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'unusable';
  }
}

/** Replaces the file as a whole. */
export const savePosition = (directory: string, position: Position): Promise<void> =>
  replaceOwnFile(directory, name, JSON.stringify(position));
