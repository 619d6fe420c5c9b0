/** What a check stores across restarts of the agent: its findings of this boot, so that each stays one fault. */

import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Occurrence } from '../../faults/checks/occurrence.ts';
import { withDiskDeadline } from '../files/disk-deadline.ts';
import { readOwnFile, replaceOwnFile } from '../files/own-file.ts';
import { systemErrorCode } from '../system-error.ts';

export interface CheckState {
  readonly bootId: string;
  readonly occurrences: readonly Occurrence[];
}

const nameOf = (check: string): string => `check-${check}.json`;

type Entry = Readonly<Record<string, unknown>>;
const isEntry = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= 100;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const isOccurrence = (value: unknown): value is Occurrence =>
  isEntry(value) &&
  isText(value['code']) &&
  isText(value['device']) &&
  isText(value['since']) &&
  isCount(value['looks']) &&
  isCount(value['absent']) &&
  typeof value['reported'] === 'boolean';

const isState = (value: unknown): value is CheckState =>
  isEntry(value) &&
  isText(value['bootId']) &&
  Array.isArray(value['occurrences']) &&
  value['occurrences'].every(isOccurrence);

/** `absent`: never written. `unusable`: written, but it cannot be read. */
export async function loadCheckState(directory: string, check: string): Promise<CheckState | 'absent' | 'unusable'> {
  try {
    const value: unknown = JSON.parse(await withDiskDeadline(readOwnFile(join(directory, nameOf(check)))));
    return isState(value) ? value : 'unusable';
  } catch (error) {
    const code = systemErrorCode(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'unusable';
  }
}

/** Writes the state when it has changed; one write at a time. A failure is logged once, until a write succeeds. */
export function checkStateWriter(directory: string, check: string, log: Logger): (state: CheckState) => Promise<void> {
  let saved = '';
  let saving = false;
  let failed = false;
  return async (state) => {
    const text = JSON.stringify(state);
    if (text === saved || saving) return;
    saving = true;
    const writing = replaceOwnFile(directory, nameOf(check), text).finally(() => {
      saving = false;
    });
    try {
      await withDiskDeadline(writing);
      saved = text;
      failed = false;
    } catch (error) {
      if (!failed)
        log.warn({ err: error }, 'cannot store the findings of a check; after a restart a fault may be reported again');
      failed = true;
    }
  };
}
