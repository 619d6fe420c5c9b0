/** Brings the report files of preflight containers to the controller. Each stays on the node until it is answered: no other spool is needed. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { KcoverError } from '../../contract/errors.ts';
import { backOff, longestWait } from '../back-off.ts';
import type { ControllerConnection, Failure } from '../controller-connection.ts';
import { withDiskDeadline } from '../disk-deadline.ts';
import { reasonOf } from '../system-error.ts';
import { type Answered, loadAnswered } from './answered.ts';
import { createDelivery, type Delivery, type Letter, type RefusedFor } from './delivery.ts';
import type { ReportFile, ReportFiles } from './files.ts';
import { createWaiting } from './waiting.ts';

export interface CourierStatus {
  /** Files that have no answer yet. */
  readonly waiting: number;
  /** Files that Temporal has. */
  readonly taken: number;
  readonly refused: ReadonlyMap<RefusedFor, number>;
  /** What stands in the directory and is no report, at the last look. */
  readonly ignored: number;
  /** Why the directory cannot be looked at. */
  readonly blind?: string;
  /** Requests that failed, in a row. */
  readonly failures: number;
}

export interface Courier {
  stop(): Promise<void>;
  status(): CourierStatus;
}

export interface CourierOptions {
  readonly files: ReportFiles;
  readonly connection: Pick<ControllerConnection, 'postPreflight'>;
  readonly node: string;
  /** Where it remembers what was answered. */
  readonly stateDirectory: string;
  readonly everyMs: number;
  readonly log: Logger;
  /** Between 0 and 1; for the jitter. */
  readonly chance?: () => number;
}

/** Files in one request. */
const perRequest = 50;
/** A file that was written so short a time ago may not be complete, ms. */
const settleMs = 1000;
/** After this time the disk is said to hang, ms. */
const patienceMs = 3000;
/** Pause for each entry of a full directory, ms: ten times what it takes to look at one. */
const restMs = 0.3;
/** Nobody can put so many names there that reports are looked for less often than this, ms. */
const longestRestMs = 60_000;
/** While it goes on failing, the log says so this often, ms. */
const remindMs = 60_000;

type Trouble = 'blind' | 'unreadable' | 'unsent' | 'unsaved';

interface Memory {
  readonly answered: Answered;
  readonly delivery: Delivery;
}

/** One that is said to be written in the future is taken as it is: the clock may have been set back. */
const isSettled = ({ writtenMs }: ReportFile): boolean => Math.abs(Date.now() - writtenMs) >= settleMs;

const becauseOf = (error: unknown): string => (error instanceof KcoverError ? error.because : reasonOf(error));

/** Starts at once and never throws: what cannot be had yet is waited for. */
export function startCourier({ files, connection, node, log, stateDirectory, everyMs, chance = Math.random }: CourierOptions): Courier {
  const stopping = new AbortController();
  const { signal } = stopping;
  const waiting = createWaiting();
  const toldAt = new Map<Trouble, number>();
  let delivery: Delivery | undefined;
  let ignored = 0;
  let failures = 0;
  let blind: string | undefined;

  /** Once in a while, not at every try. */
  function tell(trouble: Trouble, facts: object, message: string): void {
    const now = performance.now();
    if (now - (toldAt.get(trouble) ?? -Infinity) < remindMs) return;
    toldAt.set(trouble, now);
    log.warn(facts, message);
  }

  function cannotLook(because: string): void {
    blind = because;
    tell('blind', { because }, 'preflight reports cannot be looked at');
  }

  /** A disk that hangs is waited for: another call would only hang beside it, and there are few threads. */
  async function fromDisk<T>(work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => cannotLook(`the disk has not answered for ${patienceMs} ms`), patienceMs);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }

  async function read(file: ReportFile): Promise<Letter | undefined> {
    try {
      const content = await fromDisk(files.read(file));
      return content === 'changed' ? undefined : { file, content };
    } catch (error) {
      waiting.again(file);
      tell('unreadable', { file: file.key, because: becauseOf(error) }, 'a preflight report cannot be read; it is tried again');
      return undefined;
    }
  }

  async function readAll(some: readonly ReportFile[]): Promise<readonly Letter[]> {
    const letters: Letter[] = [];
    for (const file of some) {
      const letter = await read(file);
      if (letter) letters.push(letter);
    }
    return letters;
  }

  async function save(answered: Answered): Promise<void> {
    await fromDisk(answered.save()).catch((error: unknown) =>
      tell(
        'unsaved',
        { because: reasonOf(error), stateDirectory },
        'which preflight reports are answered cannot be written down; they are sent again after a restart',
      ),
    );
  }

  function succeeded(): void {
    if (failures > 0) log.info({ failures }, 'preflight reports reach the controller again');
    failures = 0;
    toldAt.delete('unsent');
  }

  /** In as many requests as it takes. */
  async function send(due: readonly ReportFile[], { answered, delivery }: Memory): Promise<Failure | undefined> {
    for (let from = 0; from < due.length && !signal.aborted; from += perRequest) {
      const letters = await readAll(due.slice(from, from + perRequest));
      if (letters.length === 0) continue;
      const failure = await delivery.deliver(letters);
      await save(answered);
      if (failure) return failure;
      succeeded();
    }
    return undefined;
  }

  /** How long to wait after a request that failed, ms. */
  function pauseAfter({ reason, kind, because }: Failure): number {
    failures += 1;
    tell('unsent', { because, kind, waiting: waiting.count }, 'preflight reports do not reach the controller; they wait');
    const seeking = reason === 'unreachable' || reason === 'not-leading';
    return backOff(failures, chance(), longestWait[seeking ? 'seeking' : 'refused']);
  }

  /** How long to wait until the next look, ms. */
  async function look(memory: Memory): Promise<number> {
    const listing = await fromDisk(files.list());
    blind = undefined;
    ({ ignored } = listing);
    const open = listing.files.filter((file) => !memory.answered.has(file));
    memory.answered.keep(listing.files);
    waiting.keep(open);
    const due = open.filter((file) => isSettled(file) && waiting.isDue(file));
    const failure = await send(due, memory);
    if (failure && !signal.aborted) return pauseAfter(failure);
    return Math.max(everyMs, Math.min(longestRestMs, restMs * (listing.files.length + listing.ignored)));
  }

  async function run(): Promise<void> {
    const answered = await fromDisk(loadAnswered(stateDirectory));
    delivery = createDelivery({ connection, node, answered, waiting, log, signal });
    while (!signal.aborted) {
      const pause = await look({ answered, delivery }).catch((error: unknown) => {
        cannotLook(becauseOf(error));
        return everyMs;
      });
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    status: () => ({
      waiting: waiting.count,
      taken: delivery?.taken ?? 0,
      refused: delivery?.refused ?? new Map(),
      ignored,
      failures,
      ...(blind !== undefined && { blind }),
    }),
    async stop() {
      stopping.abort();
      // A disk that hangs does not hold up the end.
      await withDiskDeadline(running).catch(() => undefined);
    },
  };
}
