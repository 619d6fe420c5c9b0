/**
 * Follows the kernel log across restarts of the agent, of the node and of the log itself.
 * Same boot: continues after the last line read. Another boot: from the beginning, because every line is new. First start: from the
 * end, because lines from before kcover do not count.
 */

import { join } from 'node:path';
import type { Logger } from 'pino';
import { AsyncEvent } from '../../contract/async-event.ts';
import { KcoverError } from '../../contract/errors.ts';
import type { KernelPosition } from '../../contract/faults/faults.ts';
import type { DetectorStatus, DetectorContext, RunningDetector } from '../detectors/detector.ts';
import { withDiskDeadline } from '../files/disk-deadline.ts';
import { reasonOf } from '../system-error.ts';
import { readBootId } from './boot-id.ts';
import { type OpenedLog, openKernelLog } from './open.ts';
import { loadPosition, type Position, savePosition } from './position-file.ts';

export interface KernelLogOptions extends Pick<DetectorContext, 'hostRoot' | 'stateDirectory' | 'gap' | 'settled'> {
  readonly path: string;
  readonly log: Logger;
  /** An old line, as evidence for the next new one. */
  readonly seen: (line: string) => void;
  /** A new line. Resolves to true when it was a fault that is now in the spool. */
  readonly line: (line: string, position: KernelPosition) => Promise<boolean>;
}

/** Interval of attempts to open a log that does not exist. */
const retryMs = 500;
/** How often the position is saved for lines without faults. */
const saveMs = 1000;

export function followKernelLog(options: KernelLogOptions): RunningDetector {
  const { hostRoot, path, stateDirectory, log } = options;
  const changed = new AsyncEvent();
  let stopped = false;
  let read = 0;
  let status: Omit<DetectorStatus, 'read'> = { state: 'starting', because: `opening ${join(hostRoot, path)}` };
  let position: Position | undefined;
  let saved = '';
  let savedAt = 0;
  let saveFailed = false;
  let saving = false;

  /** Saves the position only after every fault so far is stored, so that after a crash a fault is read again rather than lost. */
  async function remember(now: number): Promise<void> {
    const text = JSON.stringify(position);
    if (position === undefined || text === saved || saving || !options.settled()) return;
    savedAt = now;
    saving = true;
    const writing = savePosition(stateDirectory, position).finally(() => {
      saving = false;
    });
    try {
      await withDiskDeadline(writing);
      saved = text;
      saveFailed = false;
    } catch (error) {
      if (!saveFailed)
        log.warn(
          { err: error },
          'cannot store the position in the kernel log; after a restart of the agent lines may be reported again',
        );
      saveFailed = true;
    }
  }

  /** Reads until the log restarts or the agent stops. */
  async function readOn({ source, pollMs }: OpenedLog, bootId: string): Promise<'restarted' | 'stopped'> {
    while (!stopped) {
      const look = await source.look();
      if (look.kind === 'restarted') return 'restarted';
      if (look.lost !== undefined) await options.gap({ what: 'kernel-log-overrun', lost: look.lost });
      let fault = false;
      read += look.lines.length;
      for (const { raw, sequence } of look.lines) fault = (await options.line(raw, { bootId, sequence })) || fault;
      // While old lines are skipped, the position is before the first line that counts.
      if (look.lines.length > 0 || !look.more) position = { bootId, next: look.next };
      const now = Date.now();
      if (fault || savedAt === 0 || now - savedAt >= saveMs) await remember(now);
      if (!look.more) await changed.wait(pollMs);
      else await new Promise(setImmediate);
    }
    return 'stopped';
  }

  async function beginAgain(bootId: string): Promise<void> {
    const now = await readBootId(hostRoot);
    log.warn({ bootId: now }, 'the kernel log starts again');
    if (now === bootId) await options.gap({ what: 'state-lost', lost: 'unknown' });
    position = { bootId: now, next: 0 };
  }

  async function follow(): Promise<void> {
    const bootId = await readBootId(hostRoot);
    const begin = position === undefined ? 'end' : position.bootId === bootId ? position.next : 0;
    let opened: OpenedLog;
    try {
      opened = await openKernelLog({ hostRoot, path, begin, seen: options.seen, changed: () => changed.notify() });
    } catch (error) {
      // A log that appears later has no lines from before the start.
      if (error instanceof KcoverError && error.code === 'not-found') position ??= { bootId, next: 0 };
      throw error;
    }
    try {
      status = { state: 'watching', because: `reading ${join(hostRoot, path)} of boot ${bootId}` };
      log.info({ bootId, begin }, 'following the kernel log');
      if ((await readOn(opened, bootId)) === 'restarted') await beginAgain(bootId);
    } finally {
      await opened.close();
    }
  }

  async function run(): Promise<void> {
    const loaded = await loadPosition(stateDirectory);
    if (loaded === 'unusable') await options.gap({ what: 'state-lost', lost: 'unknown' });
    if (typeof loaded === 'object') position = loaded;
    while (!stopped) {
      try {
        await follow();
      } catch (error) {
        const because = error instanceof KcoverError ? `${error.message}: ${error.because}` : reasonOf(error);
        if (status.because !== because) log.error({ because }, 'the kernel log cannot be read');
        status = { state: 'unavailable', because };
        await changed.wait(retryMs);
      }
    }
    await remember(Date.now());
  }

  const running = run();
  return {
    status: () => ({ ...status, read }),
    async stop() {
      stopped = true;
      changed.notify();
      await running;
    },
  };
}
