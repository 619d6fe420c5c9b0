/** Sends the reports in the spool at once, and heartbeats when there are none. */

import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AsyncEvent } from '../../contract/async-event.ts';
import type { NodeNotice } from '../../contract/node/notice.ts';
import type { WantedLog } from '../../contract/progress/logs.ts';
import { reportBodyLimit, type ReportBatch } from '../../contract/wire/reports.ts';
import { waitAfter } from './back-off.ts';
import type { BatchAnswer, ControllerConnection, Failure, FailureReason } from './connection.ts';
import type { Pending, Spool } from '../spool.ts';

export interface ReporterStatus {
  /** RFC 3339; absent before the first success. */
  readonly lastAcceptedAt?: string;
  /** Consecutive failures. */
  readonly failures: number;
  /** Why the last one failed. */
  readonly because?: string;
  /** Reports that were accepted. */
  readonly sent: number;
  /** Requests that failed, by reason. */
  readonly refused: ReadonlyMap<FailureReason, number>;
}

export interface FaultReporter {
  /** To call when the spool has something new. */
  readonly flush: () => void;
  stop(): Promise<void>;
  status(): ReporterStatus;
}

export interface ReporterOptions {
  readonly spool: Spool;
  readonly connection: ControllerConnection;
  readonly node: string;
  /** Called for each batch: in tests the agent may outlive a simulated boot. */
  readonly bootId: () => Promise<string>;
  readonly heartbeatMs: number;
  /** The logs that the controller wants to be followed, with every batch that it accepts. */
  readonly onFollow: (logs: readonly WantedLog[]) => void;
  /** What the controller thinks of the node, with every batch; undefined where it does not say. */
  readonly onNotice: (notice: NodeNotice | undefined) => void;
  readonly log: Logger;
  /** Between 0 and 1; for the jitter. */
  readonly chance?: () => number;
}

/** Leaves space in the body for the envelope and 100 gaps. */
const limit = { reports: 500, bytes: reportBodyLimit - 64 * 1024 } as const;
/** Interval of the log line while it keeps failing. */
const remindMs = 60_000;

type BatchPart = Omit<Pending, 'stream'>;

const nothing: BatchPart = { reports: [], gaps: [] };

/** Splits a rejected batch; one part when it cannot be split. Gaps come after all reports, each kind in its order. */
function divide({ reports, gaps }: BatchPart): readonly BatchPart[] {
  if (reports.length > 0 && gaps.length > 0)
    return [
      { reports, gaps: [] },
      { reports: [], gaps },
    ];
  if (reports.length + gaps.length < 2) return [{ reports, gaps }];
  return [
    ...halves(reports).map((some) => ({ reports: some, gaps: [] })),
    ...halves(gaps).map((some) => ({ reports: [], gaps: some })),
  ];
}

function halves<T>(all: readonly T[]): readonly (readonly T[])[] {
  const half = Math.ceil(all.length / 2);
  return [all.slice(0, half), all.slice(half)].filter((some) => some.length > 0);
}

const lastGapOf = ({ gaps }: BatchPart): number => gaps.at(-1)?.number ?? 0;

export function startReporter(options: ReporterOptions): FaultReporter {
  const { spool, connection, node, log, heartbeatMs, chance = Math.random } = options;
  const changed = new AsyncEvent();
  const stopping = new AbortController();
  const refused = new Map<FailureReason, number>();
  let status: Pick<ReporterStatus, 'lastAcceptedAt' | 'failures' | 'because'> = { failures: 0 };
  let sent = 0;
  let remindedAt = 0;

  async function post(part: BatchPart, stream: string): Promise<BatchAnswer> {
    const bootId = await options.bootId().catch(() => '');
    const batch: ReportBatch = {
      schema: 1,
      node,
      bootId,
      stream,
      reports: part.reports,
      gaps: part.gaps.map(({ gap }) => gap),
    };
    const answer = await connection.post(batch, stopping.signal);
    if (answer.kind === 'accepted') {
      options.onFollow(answer.follow);
      options.onNotice(answer.notice);
    } else if (!stopping.signal.aborted) refused.set(answer.reason, (refused.get(answer.reason) ?? 0) + 1);
    return answer;
  }

  async function discard(part: BatchPart, because: string): Promise<void> {
    const [report] = part.reports;
    log.error(
      { fault: report?.fault.id, code: report?.fault.code, gap: part.gaps[0]?.gap, because },
      'the controller will never accept this report or gap; it is dropped',
    );
    // A rejected gap causes no further gap, which could repeat forever. The gap is added first, so that a crash in between loses nothing silently.
    if (report) await spool.gap({ seenAt: new Date().toISOString(), what: 'report-refused', lost: 1 });
    await spool.forget({ seq: report?.seq ?? 0, gap: lastGapOf(part) });
  }

  /** Undefined when all of the part has been accepted, or dropped as unacceptable. */
  async function sendPart(part: BatchPart, stream: string): Promise<Failure | undefined> {
    const answer = await post(part, stream);
    if (answer.kind === 'accepted') return take(part, answer.accepted);
    if (answer.kind !== 'rejected' || part.reports.length + part.gaps.length === 0) return answer;

    const parts = divide(part);
    if (parts.length > 1) {
      for (const one of parts) {
        const failure = await sendPart(one, stream);
        if (failure) return failure;
      }
      return undefined;
    }
    // If even an empty batch is rejected, the report is not the cause, and nothing may be dropped.
    const empty = await post(nothing, stream);
    if (empty.kind !== 'accepted') return empty;
    await discard(part, answer.because);
    return undefined;
  }

  async function take(part: BatchPart, accepted: number): Promise<Failure | undefined> {
    const { reports } = part;
    const last = reports.at(-1)?.seq ?? 0;
    const seq = Math.min(accepted, last);
    sent += reports.filter((report) => report.seq <= seq).length;
    if (seq > 0 || part.gaps.length > 0) await spool.forget({ seq, gap: lastGapOf(part) });
    const first = reports[0]?.seq ?? 0;
    return seq < first
      ? {
          kind: 'unavailable',
          reason: 'unknown',
          because: `the controller accepted nothing: up to ${accepted} of ${first} to ${last}`,
        }
      : undefined;
  }

  function succeeded(): void {
    if (status.failures > 0) log.info({ failures: status.failures }, 'reports reach the controller again');
    status = { failures: 0, lastAcceptedAt: new Date().toISOString() };
    remindedAt = 0;
  }

  function failed(failure: Failure): void {
    status = { ...status, failures: status.failures + 1, because: failure.because };
    const now = Date.now();
    if (now - remindedAt < remindMs) return;
    remindedAt = now;
    const { waiting } = spool.status();
    if (failure.kind === 'denied')
      log.error(
        { because: failure.because, waiting },
        'the controller does not authorise this agent; check its ServiceAccount, audience and node',
      );
    else log.warn({ because: failure.because, waiting }, 'reports do not reach the controller; they are kept');
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const { stream, ...part } = spool.pending(limit);
      const failure = await sendPart(part, stream);
      if (stopping.signal.aborted) return;
      if (failure) {
        failed(failure);
        // New reports do not shorten it: they would undo the back-off.
        await setTimeout(waitAfter(failure, status.failures, chance()), undefined, {
          signal: stopping.signal,
        }).catch(() => undefined);
        continue;
      }
      succeeded();
      const left = spool.pending(limit);
      if (left.reports.length + left.gaps.length === 0) await changed.wait(heartbeatMs);
    }
  }

  const running = run();
  return {
    flush: () => changed.notify(),
    status: () => ({ ...status, sent, refused }),
    async stop() {
      stopping.abort();
      changed.notify();
      await running;
      await connection.close();
    },
  };
}
