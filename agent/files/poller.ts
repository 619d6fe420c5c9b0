/** Polls the files of containers and sends them. Waits for what is not available yet. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { KcoverError } from '../../contract/errors.ts';
import { waitAfter } from '../upload/back-off.ts';
import type { Failure } from '../upload/connection.ts';
import { withDiskDeadline } from './disk-deadline.ts';
import { reasonOf } from '../system-error.ts';

export interface FilePollerStatus {
  /** Why the directory cannot be read. */
  readonly unavailable?: string;
  /** Requests that failed, in a row. */
  readonly failures: number;
}

/** Result of one poll. */
export interface PollResult {
  /** Names in the directory. */
  readonly seen: number;
  /** The failed request that ended the poll. */
  readonly failure?: Failure | undefined;
}

export interface FilePoller {
  readonly signal: AbortSignal;
  /** Runs a disk operation; one that hangs is logged, and awaited. */
  fromDisk<T>(work: Promise<T>): Promise<T>;
  /** Logs a problem from time to time, not at every attempt. */
  warn(trouble: string, facts: object, message: string): void;
  /** A request succeeded. */
  succeeded(): void;
  /** Polls until `stop`; a poll that throws counts as failed. */
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

/** After this time a disk operation is reported as hanging, ms. */
const patienceMs = 3000;
/** Pause for each entry of the directory, ms: ten times what it takes to read one. */
const restMs = 0.3;
/** Upper bound of the poll interval, however many entries tenants create, ms. */
const longestRestMs = 60_000;
/** Interval of the log line while it keeps failing, ms. */
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

  /** Only one call at a time: a second one would hang too, and the thread pool is small. */
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

  /** How long to wait until the next poll, ms. */
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
      // A hanging disk must not delay the end.
      await withDiskDeadline(running).catch(() => undefined);
    },
    status: () => ({ failures, ...(unavailable !== undefined && { unavailable }) }),
  };
}
