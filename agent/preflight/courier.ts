/** Brings the report files of preflight containers to the controller. Each stays on the node until it is answered: no other spool is needed. */

import type { Logger } from 'pino';
import type { ControllerConnection, Failure } from '../controller-connection.ts';
import { becauseOf, createLookout, type LookoutStatus } from '../lookout.ts';
import { inTurn, type RankFile } from '../rank-files.ts';
import { reasonOf } from '../system-error.ts';
import { type Answered, loadAnswered } from './answered.ts';
import { type Begun, loadBegun } from './begun.ts';
import { createDelivery, type Delivery, type Letter, type RefusedFor } from './delivery.ts';
import { passedOver, type ReportFiles } from './files.ts';
import { createWaiting } from './waiting.ts';

export interface CourierStatus extends LookoutStatus {
  /** Files that have no answer yet. */
  readonly waiting: number;
  /** Files that Temporal has. */
  readonly taken: number;
  readonly refused: ReadonlyMap<RefusedFor, number>;
  /** What stands in the directory and is no report, at the last look. */
  readonly ignored: number;
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

interface Memory {
  readonly answered: Answered;
  readonly begun: Begun;
  readonly delivery: Delivery;
}

/** One that is said to be written in the future is taken as it is: the clock may have been set back. */
const isSettled = ({ writtenMs }: RankFile): boolean => Math.abs(Date.now() - writtenMs) >= settleMs;

/** Starts at once and never throws: what cannot be had yet is waited for. */
export function startCourier({ files, connection, node, log, stateDirectory, everyMs, chance }: CourierOptions): Courier {
  const lookout = createLookout({ what: 'preflight reports', everyMs, log, chance });
  const { signal, fromDisk, tell } = lookout;
  const waiting = createWaiting();
  let memory: Memory | undefined;
  let ignored = 0;

  async function read(file: RankFile, begun: Begun): Promise<Letter | undefined> {
    if (begun.endedUs(file)) {
      tell('passed over', { file: file.key }, 'a preflight report is passed over: the agent ended twice while it read this file');
      return { file, content: passedOver(file) };
    }
    try {
      const content = await fromDisk(begun.during(file, () => files.read(file)));
      return content === 'changed' ? undefined : { file, content };
    } catch (error) {
      waiting.again(file);
      tell('unreadable', { file: file.key, because: becauseOf(error) }, 'a preflight report cannot be read; it is tried again');
      return undefined;
    }
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

  /** In as many requests as it takes. */
  async function send(due: readonly RankFile[], { answered, begun, delivery }: Memory): Promise<Failure | undefined> {
    for (let from = 0; from < due.length && !signal.aborted; from += perRequest) {
      const letters = await inTurn(due.slice(from, from + perRequest), signal, (file) => read(file, begun));
      if (letters.length === 0) continue;
      const failure = await delivery.deliver(letters);
      await save(answered);
      if (failure) return failure;
      lookout.succeeded();
    }
    return undefined;
  }

  async function open(): Promise<Memory> {
    const unwritable = (error: unknown): void =>
      tell(
        'unnoted',
        { because: reasonOf(error), stateDirectory },
        'which preflight report is being read cannot be noted; one that ends the agent will end it again',
      );
    const [answered, begun] = await fromDisk(Promise.all([loadAnswered(stateDirectory), loadBegun(stateDirectory, unwritable)]));
    return { answered, begun, delivery: createDelivery({ connection, node, answered, waiting, log, signal }) };
  }

  lookout.start(async () => {
    memory ??= await open();
    const { answered, begun } = memory;
    const listing = await fromDisk(files.list());
    ({ ignored } = listing);
    const unanswered = listing.files.filter((file) => !answered.has(file));
    answered.keep(listing.files);
    begun.keep(listing.files);
    waiting.keep(unanswered);
    const due = unanswered.filter((file) => isSettled(file) && waiting.isDue(file));
    return { seen: listing.files.length + listing.ignored, failure: await send(due, memory) };
  });

  return {
    status: () => ({
      waiting: waiting.count,
      taken: memory?.delivery.taken ?? 0,
      refused: memory?.delivery.refused ?? new Map(),
      ignored,
      ...lookout.status(),
    }),
    stop: () => lookout.stop(),
  };
}
