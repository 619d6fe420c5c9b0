/** Follows the logs that the controller asks for, and sends what changed in them. Only the newest counts, so nothing is spooled. */

import type { Logger } from 'pino';
import { type LogReport, logLimits, type WantedLog } from '../../contract/progress/logs.ts';
import type { ControllerConnection, Failure } from '../upload/connection.ts';
import { becauseOf, createFilePoller, type FilePollerStatus } from '../files/poller.ts';
import { type FollowedLog, followLog } from './followed-log.ts';

export interface LogUploaderStatus extends FilePollerStatus {
  /** Logs that are followed now. */
  readonly followed: number;
  readonly lines: number;
  /** Bytes that were not read, because a container wrote faster than they are read. */
  readonly skipped: number;
  /** Reports that reached the controller; a repeated one counts again. */
  readonly sent: number;
}

export interface LogUploader {
  /** The logs to follow from now on; others are no longer read. */
  follow(wanted: readonly WantedLog[]): void;
  stop(): Promise<void>;
  status(): LogUploaderStatus;
}

export interface LogUploaderOptions {
  readonly hostRoot: string;
  readonly connection: Pick<ControllerConnection, 'postLogs' | 'opened'>;
  readonly node: string;
  readonly everyMs: number;
  readonly log: Logger;
  /** Between 0 and 1; for the jitter. */
  readonly chance?: () => number;
}

interface Following {
  readonly wanted: WantedLog;
  readonly log: FollowedLog;
  /** Whether the last look could read it. */
  isRead: boolean;
  /** The last report that was sent, as text. */
  sent?: string;
  /** When it is sent again, because it did not count; monotonic, ms. */
  againAt?: number;
}

interface DueReport {
  readonly from: Following;
  readonly report: LogReport;
  readonly text: string;
}

/** What one look reads of all logs, and at least of each: bytes, and time for their lines (ms). */
const most = { bytes: 8 * 1024 * 1024, ms: 400 } as const;
const least = { bytes: 256 * 1024, ms: 20 } as const;
/** When a report that did not count is sent again, ms: its container may have started just now. */
const againMs = 5000;

/** Starts at once and never throws. */
export function startLogUploader({
  hostRoot,
  connection,
  node,
  everyMs,
  log,
  chance,
}: LogUploaderOptions): LogUploader {
  const poller = createFilePoller({ what: 'container logs', everyMs, log, chance });
  const { signal, fromDisk, warn } = poller;
  const buffer = Buffer.alloc(least.bytes);
  /** By everything that was asked: another format begins anew. */
  const following = new Map<string, Following>();
  let wanted: ReadonlyMap<string, WantedLog> = new Map();
  let unreadable: string | undefined;
  let knownConnections = -1;
  /** UIDs of the logs that the controller knows to be read. */
  let readBefore = '';
  let count = { lines: 0, skipped: 0, sent: 0 };

  async function adjust(): Promise<void> {
    for (const [key, { log: followed }] of following) {
      if (wanted.has(key)) continue;
      following.delete(key);
      await followed.close();
    }
    for (const [key, each] of wanted)
      if (!following.has(key))
        following.set(key, { wanted: each, log: followLog(hostRoot, each, buffer), isRead: false });
  }

  async function look(each: Following): Promise<void> {
    const { namespace, pod } = each.wanted;
    try {
      const share = {
        bytes: Math.max(least.bytes, Math.floor(most.bytes / following.size)),
        ms: Math.max(least.ms, most.ms / following.size),
      };
      const { lines, skipped } = await fromDisk(each.log.look(share));
      each.isRead = true;
      count = { ...count, lines: count.lines + lines, skipped: count.skipped + skipped };
    } catch (error) {
      each.isRead = false;
      unreadable = `${namespace}/${pod}: ${becauseOf(error)}`;
      warn('unreadable', { because: unreadable }, 'a container log cannot be read; it is tried again');
    }
  }

  function dueReports(): readonly DueReport[] {
    return [...following.values()].flatMap((from) => {
      const { report } = from.log;
      const text = JSON.stringify(report);
      const isDue = text !== from.sent || performance.now() >= (from.againAt ?? Infinity);
      return report && isDue ? [{ from, report, text }] : [];
    });
  }

  /** Sends what changed; everything to what may be another controller. */
  async function sendChanges(): Promise<Failure | undefined> {
    if (connection.opened() !== knownConnections) {
      readBefore = '';
      for (const each of following.values()) delete each.sent;
    }
    knownConnections = connection.opened();
    const due = dueReports();
    const isNew = readNow().join() !== readBefore;
    return (due.length > 0 || isNew) && !signal.aborted ? send(due) : undefined;
  }

  const readNow = (): readonly string[] =>
    [...following.values()].filter(({ isRead }) => isRead).map(({ wanted: { uid } }) => uid);

  async function send(due: readonly DueReport[]): Promise<Failure | undefined> {
    const read = readNow();
    const answer = await connection.postLogs({ schema: 1, node, read, logs: due.map(({ report }) => report) }, signal);
    if (answer.kind === 'rejected') return isolateRejected(due, answer);
    if (answer.kind !== 'accepted') return answer;
    poller.succeeded();
    readBefore = read.join();
    count = { ...count, sent: count.sent + due.length };
    for (const [at, { from, text }] of due.entries()) {
      from.sent = text;
      from.againAt = answer.counted[at] === true ? Infinity : performance.now() + againMs;
    }
    return undefined;
  }

  /** One of the reports makes the whole request invalid; the controller may have another version. */
  async function isolateRejected(due: readonly DueReport[], failure: Failure): Promise<Failure | undefined> {
    const [first] = due;
    if (due.length > 1) {
      const half = Math.ceil(due.length / 2);
      return (await send(due.slice(0, half))) ?? send(due.slice(half));
    }
    readBefore = readNow().join();
    if (first) [first.from.sent, first.from.againAt] = [first.text, Infinity];
    warn('rejected', { because: failure.because }, 'the controller rejects the report of a container log');
    return undefined;
  }

  poller.start(async () => {
    await adjust();
    unreadable = undefined;
    for (const each of following.values()) {
      if (signal.aborted) break;
      await look(each);
      // Whatever else the agent does comes in between.
      await new Promise(setImmediate);
    }
    return { seen: 0, failure: await sendChanges() };
  });

  return {
    follow(logs) {
      wanted = new Map(logs.slice(0, logLimits.perNode).map((each) => [JSON.stringify(each), each]));
    },
    status: () => ({
      followed: following.size,
      ...count,
      ...(unreadable !== undefined && { unavailable: unreadable }),
      ...poller.status(),
    }),
    async stop() {
      await poller.stop();
      await Promise.all([...following.values()].map(({ log: followed }) => followed.close().catch(() => undefined)));
    },
  };
}
