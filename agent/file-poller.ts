/** Looks at the files of containers again and again, for whoever sends them. What cannot be had yet is waited for. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { KcoverError } from '../contract/errors.ts';
import { waitAfter } from './back-off.ts';
import type { Failure } from './controller-connection.ts';
import { withDiskDeadline } from './disk-deadline.ts';
import { reasonOf } from './system-error.ts';

export interface FilePollerStatus {
  /** Why the directory cannot be looked at. */
  readonly unavailable?: string;
  /** Requests that failed, in a row. */
  readonly failures: number;
}

/** What one look found. */
export interface PollResult {
  /** Names in the directory. */
  readonly seen: number;
  /** The request that was not taken, and ended it. */
  readonly failure?: Failure | undefined;
}

export interface FilePoller {
  readonly signal: AbortSignal;
  /** Asks the disk; one that hangs is told of, and waited for. */
  fromDisk<T>(work: Promise<T>): Promise<T>;
  /** Logs a trouble once in a while, not at every try. */
  warn(trouble: string, facts: object, message: string): void;
  /** A request was taken. */
  succeeded(): void;
  /** Looks until `stop`; a look that throws could not be made. */
  start(look: () => Promise<PollResult>): void;
  stop(): Promise<void>;
  status(): FilePollerStatus;
}

export interface FilePollerOptions {
  /** In messages: `preflight reports`. */
  readonly what: string;
  readonly everyMs: number;
  readonly log: Logger;
  /** Between 0 and 1; for the jitter. */
  readonly chance?: (() => number) | undefined;
}

/** After this time the disk is said to hang, ms. */
const patienceMs = 3000;
/** Pause for each entry of a full directory, ms: ten times what it takes to look at one. */
const restMs = 0.3;
/** Nobody can put so many names there that the directory is looked at less often than this, ms. */
const longestRestMs = 60_000;
/** While it goes on failing, the log says so this often, ms. */
const remindMs = 60_000;

export const becauseOf = (error: unknown): string => (error instanceof KcoverError ? error.because : reasonOf(error));

export function createFilePoller({ what, everyMs, log, chance = Math.random }: FilePollerOptions): FilePoller {
  const stopping = new AbortController();
  const { signal } = stopping;
  const warnedAt = new Map<string, number>();
  let running = Promise.resolve();
  let failures = 0;
  let unavailable: string | undefined;

  function warn(trouble: string, facts: object, message: string): void {
    const now = performance.now();
    if (now - (warnedAt.get(trouble) ?? -Infinity) < remindMs) return;
    warnedAt.set(trouble, now);
    log.warn(facts, message);
  }

  function cannotLook(because: string): void {
    unavailable = because;
    warn('unavailable', { because }, `${what} cannot be looked at`);
  }

  /** Another call would only hang beside it, and there are few threads. */
  async function fromDisk<T>(work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => cannotLook(`the disk has not answered for ${patienceMs} ms`), patienceMs);
    try {
      const found = await work;
      unavailable = undefined;
      return found;
    } finally {
      clearTimeout(timer);
    }
  }

  /** How long to wait until the next look, ms. */
  function pauseAfter({ seen, failure }: PollResult): number {
    if (!failure || signal.aborted) return Math.max(everyMs, Math.min(longestRestMs, restMs * seen));
    const { kind, because } = failure;
    failures += 1;
    warn('unsent', { because, kind }, `${what} do not reach the controller; they wait`);
    return waitAfter(failure, failures, chance());
  }

  async function run(look: () => Promise<PollResult>): Promise<void> {
    while (!signal.aborted) {
      const pause = await look().then(pauseAfter, (error: unknown) => {
        cannotLook(becauseOf(error));
        return everyMs;
      });
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  }

  return {
    signal,
    fromDisk,
    warn,
    succeeded() {
      if (failures > 0) log.info({ failures }, `${what} reach the controller again`);
      failures = 0;
      warnedAt.delete('unsent');
    },
    start(look) {
      running = run(look);
    },
    async stop() {
      stopping.abort();
      // A disk that hangs does not hold up the end.
      await withDiskDeadline(running).catch(() => undefined);
    },
    status: () => ({ failures, ...(unavailable !== undefined && { unavailable }) }),
  };
}
