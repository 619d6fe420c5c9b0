/** What the detector of links stores across restarts of the agent: the ports that were ACTIVE in this boot. */

import { join } from 'node:path';
import type { Logger } from 'pino';
import type { LinkPort } from '../../faults/link/link-fault.ts';
import type { PortFall, PortHistory } from '../../faults/link/port-history.ts';
import { withDiskDeadline } from '../files/disk-deadline.ts';
import { readOwnFile, replaceOwnFile } from '../files/own-file.ts';
import { systemErrorCode } from '../system-error.ts';

export interface KnownPort {
  readonly port: LinkPort;
  readonly history: PortHistory;
}

export interface LinkState {
  readonly bootId: string;
  readonly ports: readonly KnownPort[];
}

const name = 'link.json';

type Entry = Readonly<Record<string, unknown>>;
const isEntry = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= 64;
const isMs = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

const isPort = (value: unknown): value is LinkPort =>
  isEntry(value) &&
  isText(value['device']) &&
  Number.isSafeInteger(value['port']) &&
  isText(value['layer']) &&
  (value['pci'] === undefined || isText(value['pci']));

const isFall = (value: unknown): value is PortFall =>
  isEntry(value) &&
  isText(value['since']) &&
  isMs(value['sinceMs']) &&
  isMs(value['seenMs']) &&
  typeof value['reported'] === 'boolean';

const isHistory = (value: unknown): value is PortHistory =>
  isEntry(value) &&
  Array.isArray(value['returnsMs']) &&
  value['returnsMs'].every(isMs) &&
  (value['fall'] === undefined || isFall(value['fall'])) &&
  (value['flappingMs'] === undefined || isMs(value['flappingMs']));

const isKnownPort = (value: unknown): value is KnownPort =>
  isEntry(value) && isPort(value['port']) && isHistory(value['history']);

const isState = (value: unknown): value is LinkState =>
  isEntry(value) && isText(value['bootId']) && Array.isArray(value['ports']) && value['ports'].every(isKnownPort);

/** `absent`: never written. `unusable`: written, but it cannot be read. */
export async function loadLinkState(directory: string): Promise<LinkState | 'absent' | 'unusable'> {
  try {
    const value: unknown = JSON.parse(await withDiskDeadline(readOwnFile(join(directory, name))));
    return isState(value) ? value : 'unusable';
  } catch (error) {
    const code = systemErrorCode(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'unusable';
  }
}

/** Writes the state when it has changed; one write at a time. A failure is logged once, until a write succeeds. */
export function linkStateWriter(directory: string, log: Logger): (state: LinkState) => Promise<void> {
  let saved = '';
  let saving = false;
  let failed = false;
  return async (state) => {
    const text = JSON.stringify(state);
    if (text === saved || saving) return;
    saving = true;
    const writing = replaceOwnFile(directory, name, text).finally(() => {
      saving = false;
    });
    try {
      await withDiskDeadline(writing);
      saved = text;
      failed = false;
    } catch (error) {
      if (!failed)
        log.warn(
          { err: error },
          'cannot store the state of RDMA links; after a restart of the agent a fall may be missed',
        );
      failed = true;
    }
  };
}
