/** All records of a directory as JSON lines, oldest first. Only their names are in memory at once. */

import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeRecord } from '../../contract/node/nodes.ts';
import type { IncidentRecord } from '../../contract/recovery/recovery.ts';
import { escapeUnseen } from '../../contract/text.ts';
import { asRecord, unreadable } from './records.ts';

export interface Exported {
  readonly written: number;
  /** Files that could not be read, with the reason. */
  readonly unread: readonly { readonly file: string; readonly because: string }[];
}

/** Larger than any record: kcover bounds what it writes into one, and Temporal what it can be given. */
const mostBytes = 16_777_216;

/** Most files whose names are kept for the end; the others are counted. */
const named = 100;

/** What ended before `since` (ms) is left out; what is open never is. `write` gets one line after the other. */
export async function exportRecords(
  directory: string,
  since: number,
  write: (line: string) => Promise<void>,
): Promise<Exported> {
  const unread: { file: string; because: string }[] = [];
  let [written, more] = [0, 0];
  for (const file of await namesIn(directory)) {
    const read = await readOne(join(directory, file));
    if ('because' in read) {
      if (unread.length < named) unread.push({ file, because: read.because });
      else more += 1;
    } else if ((endOf(read.record) ?? since) >= since) {
      await write(`${escapeUnseen(JSON.stringify(read.record))}\n`);
      written += 1;
    }
  }
  return { written, unread: more === 0 ? unread : [...unread, { file: `${more} more`, because: 'also unreadable' }] };
}

/** By the time that each incident began, which is at the end of the name. */
async function namesIn(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    throw unreadable(directory, error);
  });
  const timeOf = (name: string): string => name.slice(name.lastIndexOf('_') + 1);
  return names
    .filter((name) => name.endsWith('.json'))
    .toSorted((a, b) => (timeOf(a) < timeOf(b) || (timeOf(a) === timeOf(b) && a < b) ? -1 : 1));
}

const endOf = (record: IncidentRecord | NodeRecord): number | undefined => {
  const at = 'job' in record ? record.endedAt : record.ended?.at;
  return at === undefined ? undefined : Date.parse(at);
};

/** Neither follows a link nor waits for a pipe: a record is a file that kcover wrote there. */
async function readOne(
  path: string,
): Promise<{ readonly record: IncidentRecord | NodeRecord } | { readonly because: string }> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) return { because: 'it is not a file' };
    if (found.size > mostBytes) return { because: `it has ${found.size} bytes, more than any record` };
    const record = asRecord(JSON.parse(await file.readFile('utf8')));
    return record ? { record } : { because: 'it is not a record of an incident' };
  } catch (error) {
    if (error instanceof SyntaxError) return { because: 'it is not JSON' };
    if (error instanceof Error && 'code' in error && error.code === 'ELOOP') return { because: 'it is a link' };
    return { because: error instanceof Error ? error.message : 'unknown failure' };
  }
}
