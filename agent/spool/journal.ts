/** The spool's file: one JSON object per line, only appended to or replaced as a whole. */

import { join } from 'node:path';
import type { Gap, Report } from '../../contract/wire/reports.ts';
import { appendOwnFile, readOwnFile, replaceOwnFile } from '../files/own-file.ts';
import { systemErrorCode } from '../system-error.ts';

/** First line: `stream`. Then added entries, and what may be forgotten. */
export type JournalEntry =
  | { readonly stream: string; readonly nextSeq: number; readonly nextGap: number }
  | { readonly report: Report }
  /** The same number again replaces it. */
  | { readonly gap: Gap; readonly number: number }
  /** The controller has everything up to these numbers, or it was dropped. */
  | { readonly forget: { readonly seq: number; readonly gap: number } };

/** Content of the file; lines that are not complete entries are counted. */
export interface JournalContents {
  readonly entries: readonly JournalEntry[];
  readonly broken: number;
  readonly bytes: number;
}

const name = 'spool.jsonl';
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isNumber = (value: unknown): value is number => Number.isSafeInteger(value);

/** Only kcover writes this file, so types are only checked as far as a half-written or damaged line could differ. */
function isEntry(value: unknown): value is JournalEntry {
  if (!isObject(value)) return false;
  if ('stream' in value)
    return typeof value['stream'] === 'string' && isNumber(value['nextSeq']) && isNumber(value['nextGap']);
  if (isObject(value['report'])) return isNumber(value['report']['seq']) && isObject(value['report']['fault']);
  if (isObject(value['gap'])) return isNumber(value['number']) && typeof value['gap']['what'] === 'string';
  return isObject(value['forget']) && isNumber(value['forget']['seq']) && isNumber(value['forget']['gap']);
}

function parse(line: string): JournalEntry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const encode = (entries: readonly JournalEntry[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');

/** Undefined when there is no file yet. Throws when it cannot be read. */
export async function readJournal(directory: string): Promise<JournalContents | undefined> {
  const text = await readOwnFile(join(directory, name)).catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const lines = text.split('\n');
  // A last line without a line end was being written when the agent ended, even if it parses.
  const tail = lines.pop() ?? '';
  const entries = lines.map(parse).filter((entry) => entry !== undefined);
  return { entries, broken: lines.length - entries.length + (tail === '' ? 0 : 1), bytes: Buffer.byteLength(text) };
}

export const appendJournal = (directory: string, text: string): Promise<void> =>
  appendOwnFile(join(directory, name), text);

export const replaceJournal = (directory: string, text: string): Promise<void> => replaceOwnFile(directory, name, text);
