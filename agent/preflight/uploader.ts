/** Sends the report files of preflight containers to the controller. Each stays on the node until it is answered, so no other spool is needed. */

import type { Logger } from 'pino';
import type { ControllerConnection, Failure } from '../upload/connection.ts';
import { becauseOf, createFilePoller, type FilePollerStatus } from '../files/poller.ts';
import { inTurn, type RankFile } from '../files/rank-files.ts';
import { reasonOf } from '../system-error.ts';
import { type AcknowledgedFiles, loadAcknowledgedFiles } from './acknowledged-files.ts';
import { type UnfinishedReads, loadUnfinishedReads } from './unfinished-reads.ts';
import { createUpload, type ReportUpload, type LoadedReport, type RefusedFor } from './upload.ts';
import { skippedFile, type ReportFiles } from './files.ts';
import { createWaiting } from './waiting.ts';

export interface PreflightUploaderStatus extends FilePollerStatus {
  /** Files that have no answer yet. */
  readonly waiting: number;
  /** Files that Temporal has. */
  readonly accepted: number;
  readonly refused: ReadonlyMap<RefusedFor, number>;
  /** Entries of the directory that are no report, at the last poll. */
  readonly ignored: number;
}

export interface PreflightUploader {
  stop(): Promise<void>;
  status(): PreflightUploaderStatus;
}

export interface PreflightUploaderOptions {
  readonly files: ReportFiles;
  readonly connection: Pick<ControllerConnection, 'postPreflight'>;
  readonly node: string;
  /** Where it stores which files were answered. */
  readonly stateDirectory: string;
  readonly everyMs: number;
  readonly log: Logger;
  /** Between 0 and 1; for the jitter. */
  readonly chance?: () => number;
}

/** Most files of one request. */
const perRequest = 50;
/** A file that was written more recently may not be complete, ms. */
const settleMs = 1000;

interface UploaderState {
  readonly acknowledged: AcknowledgedFiles;
  readonly unfinished: UnfinishedReads;
  readonly upload: ReportUpload;
}

/** A file with a time in the future counts as complete: the clock may have been set back. */
const isSettled = ({ writtenMs }: RankFile): boolean => Math.abs(Date.now() - writtenMs) >= settleMs;

/** Starts at once and never throws: waits for what is not available yet. */
export function startPreflightUploader({
  files,
  connection,
  node,
  log,
  stateDirectory,
  everyMs,
  chance,
}: PreflightUploaderOptions): PreflightUploader {
  const poller = createFilePoller({ what: 'preflight reports', everyMs, log, chance });
  const { signal, fromDisk, warn } = poller;
  const waiting = createWaiting();
  let state: UploaderState | undefined;
  let ignored = 0;

  async function read(file: RankFile, unfinished: UnfinishedReads): Promise<LoadedReport | undefined> {
    if (unfinished.endedAgent(file)) {
      warn(
        'passed over',
        { file: file.key },
        'a preflight report is skipped: the agent ended twice while it read this file',
      );
      return { file, content: skippedFile(file) };
    }
    try {
      const content = await fromDisk(unfinished.during(file, () => files.read(file)));
      return content === 'changed' ? undefined : { file, content };
    } catch (error) {
      waiting.again(file);
      warn(
        'unreadable',
        { file: file.key, because: becauseOf(error) },
        'a preflight report cannot be read; it is tried again',
      );
      return undefined;
    }
  }

  async function save(acknowledged: AcknowledgedFiles): Promise<void> {
    await fromDisk(acknowledged.save()).catch((error: unknown) =>
      warn(
        'unsaved',
        { because: reasonOf(error), stateDirectory },
        'cannot store which preflight reports are answered; they are sent again after a restart',
      ),
    );
  }

  /** Sends the files in as many requests as needed. */
  async function send(
    due: readonly RankFile[],
    { acknowledged, unfinished, upload }: UploaderState,
  ): Promise<Failure | undefined> {
    for (let from = 0; from < due.length && !signal.aborted; from += perRequest) {
      const reports = await inTurn(due.slice(from, from + perRequest), signal, (file) => read(file, unfinished));
      if (reports.length === 0) continue;
      const failure = await upload.send(reports);
      await save(acknowledged);
      if (failure) return failure;
      poller.succeeded();
    }
    return undefined;
  }

  async function open(): Promise<UploaderState> {
    const unwritable = (error: unknown): void =>
      warn(
        'unnoted',
        { because: reasonOf(error), stateDirectory },
        'cannot record on disk which preflight report is being read; one that ends the agent will end it again',
      );
    const [acknowledged, unfinished] = await fromDisk(
      Promise.all([loadAcknowledgedFiles(stateDirectory), loadUnfinishedReads(stateDirectory, unwritable)]),
    );
    return { acknowledged, unfinished, upload: createUpload({ connection, node, acknowledged, waiting, log, signal }) };
  }

  poller.start(async () => {
    state ??= await open();
    const { acknowledged, unfinished } = state;
    const listing = await fromDisk(files.list());
    ({ ignored } = listing);
    const unacknowledged = listing.files.filter((file) => !acknowledged.has(file));
    acknowledged.keep(listing.files);
    unfinished.keep(listing.files);
    waiting.keep(unacknowledged);
    const due = unacknowledged.filter((file) => isSettled(file) && waiting.isDue(file));
    return { seen: listing.files.length + listing.ignored, failure: await send(due, state) };
  });

  return {
    status: () => ({
      waiting: waiting.count,
      accepted: state?.upload.accepted ?? 0,
      refused: state?.upload.refused ?? new Map(),
      ignored,
      ...poller.status(),
    }),
    stop: () => poller.stop(),
  };
}
