/** Sends progress files of trainers to the controller: changed files, and all files again to another controller. Only the newest counts, so nothing is spooled. */

import type { Logger } from 'pino';
import type { ControllerConnection, Failure } from '../upload/connection.ts';
import { becauseOf, createFilePoller, type FilePollerStatus } from '../files/poller.ts';
import { inTurn, type RankFile } from '../files/rank-files.ts';
import type { ProgressContent, TrainerFiles } from './files.ts';

export interface ProgressUploaderStatus extends FilePollerStatus {
  /** Files that reached the controller; a repeated upload counts again. */
  readonly sent: number;
  /** Versions of files that cannot be used. */
  readonly unusable: number;
  /** Entries of the directory that are no progress file, at the last poll. */
  readonly ignored: number;
}

export interface ProgressUploader {
  stop(): Promise<void>;
  status(): ProgressUploaderStatus;
}

export interface ProgressUploaderOptions {
  readonly files: TrainerFiles;
  readonly connection: Pick<ControllerConnection, 'postProgress' | 'opened'>;
  readonly node: string;
  readonly everyMs: number;
  readonly log: Logger;
  /** Between 0 and 1; for the jitter. */
  readonly chance?: () => number;
}

/** Most files of one request. */
const perRequest = 100;
/** A file that is not JSON this long after it was written is not half-written but unusable, ms. */
const settleMs = 2000;
/** How long the controller may take to observe a container start, ms: files that are ignored until then are sent again. */
const youngMs = 3 * 60_000;

const isSettled = ({ writtenMs }: RankFile): boolean => Date.now() - writtenMs >= settleMs;

/** A file with a time in the future does not count as recent: it would be sent forever. */
const isYoung = ({ writtenMs }: RankFile): boolean => Math.abs(Date.now() - writtenMs) < youngMs;

interface LoadedProgress {
  readonly file: RankFile;
  readonly content: Extract<ProgressContent, { kind: 'file' }>['file'];
}

/** Starts at once and never throws. */
export function startProgressUploader({
  files,
  connection,
  node,
  everyMs,
  log,
  chance,
}: ProgressUploaderOptions): ProgressUploader {
  const poller = createFilePoller({ what: 'progress files', everyMs, log, chance });
  const { signal, fromDisk, warn } = poller;
  /** Versions that need not be sent, by key. */
  const done = new Map<string, string>();
  /** Versions that were logged as unusable. */
  const unusable = new Map<string, string>();
  let knownConnections = -1;
  let count = { sent: 0, unusable: 0, ignored: 0 };

  function cannotUse(file: RankFile, because: string): void {
    done.set(file.key, file.version);
    if (unusable.get(file.key) === file.version) return;
    unusable.set(file.key, file.version);
    count = { ...count, unusable: count.unusable + 1 };
    log.warn({ file: file.key, because }, 'a progress file cannot be used');
  }

  /** Undefined when there is nothing to send: half-written, just changed, or unusable. */
  async function read(file: RankFile): Promise<LoadedProgress | undefined> {
    try {
      const content = await fromDisk(files.read(file));
      if (content === 'changed') return undefined;
      if (content.kind === 'file') return { file, content: content.file };
      if (content.what !== 'json' || isSettled(file)) cannotUse(file, content.because);
    } catch (error) {
      warn(
        'unreadable',
        { file: file.key, because: becauseOf(error) },
        'a progress file cannot be read; it is tried again',
      );
    }
    return undefined;
  }

  const readAll = (some: readonly RankFile[]): Promise<readonly LoadedProgress[]> => inTurn(some, signal, read);

  async function post(loaded: readonly LoadedProgress[]): Promise<Failure | undefined> {
    const answer = await connection.postProgress(
      { schema: 1, node, files: loaded.map(({ content }) => content) },
      signal,
    );
    if (answer.kind === 'rejected') return isolateRejected(loaded, answer);
    if (answer.kind !== 'accepted') return answer;
    poller.succeeded();
    count = { ...count, sent: count.sent + loaded.length };
    for (const [at, { file }] of loaded.entries())
      if (answer.counted[at] === true || !isYoung(file)) done.set(file.key, file.version);
    return undefined;
  }

  /** One of the files makes the whole request invalid; the controller may have another version. */
  async function isolateRejected(loaded: readonly LoadedProgress[], failure: Failure): Promise<Failure | undefined> {
    const [first] = loaded;
    if (first === undefined) return undefined;
    if (loaded.length === 1) {
      cannotUse(first.file, failure.because);
      return undefined;
    }
    const half = Math.ceil(loaded.length / 2);
    return (await post(loaded.slice(0, half))) ?? post(loaded.slice(half));
  }

  async function send(due: readonly RankFile[]): Promise<Failure | undefined> {
    for (let from = 0; from < due.length && !signal.aborted; from += perRequest) {
      const loaded = await readAll(due.slice(from, from + perRequest));
      const failure = loaded.length > 0 ? await post(loaded) : undefined;
      if (failure) return failure;
    }
    return undefined;
  }

  /** Forgets files that are gone; and all sent files when another controller may answer now. */
  function forget(there: readonly RankFile[]): void {
    const keys = new Set(there.map(({ key }) => key));
    for (const versions of [done, unusable])
      for (const key of versions.keys()) if (!keys.has(key)) versions.delete(key);
    if (connection.opened() === knownConnections) return;
    knownConnections = connection.opened();
    done.clear();
  }

  poller.start(async () => {
    const listing = await fromDisk(files.list());
    count = { ...count, ignored: listing.ignored };
    forget(listing.files);
    const failure = await send(listing.files.filter(({ key, version }) => done.get(key) !== version));
    return { seen: listing.files.length + listing.ignored, failure };
  });

  return { status: () => ({ ...count, ...poller.status() }), stop: () => poller.stop() };
}
