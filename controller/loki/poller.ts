/** Polls one query of Loki for as long as this controller leads. */

import type { Logger } from 'pino';
import { KcoverError } from '../../contract/errors.ts';
import type { Fault } from '../../contract/faults/faults.ts';
import type { FaultRates } from '../intake/fault-rates.ts';
import type { ControllerMetrics } from '../metrics.ts';
import type { Addressee } from '../outbox/messages.ts';
import { pause } from '../watch/retry-while-leading.ts';
import { advance, beginAt, type Cursor } from './cursor.ts';
import type { LokiLine } from './answer.ts';
import type { LineResult, Refusal } from './lines.ts';
import { type Ask, type Page, pagesOf } from './pages.ts';
import type { LokiSettings } from './request.ts';

export interface PollerOptions {
  readonly name: string;
  readonly settings: Pick<LokiSettings, 'interval' | 'delay' | 'overlap' | 'oldest' | 'page' | 'silent'>;
  readonly resultOf: (line: LokiLine) => LineResult;
  readonly ask: Ask;
  /** Where the last controller stopped; undefined before the first start. */
  readonly cursor: Cursor | undefined;
  readonly save: (cursor: Cursor) => Promise<void>;
  readonly rates: FaultRates;
  /** Resolves when the workflow has the fault. */
  readonly send: (to: Addressee, fault: Fault) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly metrics: Pick<ControllerMetrics, 'lokiUnavailable' | 'lokiSilent' | 'lokiLines' | 'lokiGaps'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** How often a cursor without new faults is saved, ms: what lies between is only read again. */
const saveMs = 60_000;
const longestPauseMs = 60_000;

const ns = (ms: number): bigint => BigInt(Math.round(ms)) * 1_000_000n;

export interface Poller {
  /** Reads everything that is new. Throws `loki.unavailable`, and what `send` throws. */
  poll(): Promise<void>;
  /** Polls until the signal aborts. */
  run(): Promise<void>;
}

export function openPoller(options: PollerOptions): Poller {
  const { name, settings, ask, resultOf, rates, metrics, log, signal, now } = options;
  const overlap = ns(settings.overlap);
  // Lines from before the first start do not count, as for an agent.
  let cursor = options.cursor ?? beginAt(ns(now()));
  let savedAt = Number.NEGATIVE_INFINITY;
  let newest = ns(now());
  let unsaved = false;
  let wasSilent = false;
  /** Lines before it were read, as far as they were there: lines of the overlap are counted when they are new. */
  let readThrough = options.cursor ? cursor.from + overlap : cursor.from;
  let isBehind = false;
  const refused = new Map<string, number>();

  async function save(): Promise<void> {
    try {
      await options.save(cursor);
      savedAt = now();
      unsaved = false;
    } catch (error) {
      if (!unsaved)
        log.warn({ err: error, query: name }, 'the position in Loki cannot be stored; a restart reads lines again');
      unsaved = true;
    }
  }

  async function poll(): Promise<void> {
    if (savedAt === Number.NEGATIVE_INFINITY) await save();
    const end = ns(now() - settings.delay);
    const oldest = ns(now() - settings.oldest);
    if (oldest > readThrough && !isBehind) {
      isBehind = true;
      log.warn({ query: name, from: `${readThrough}` }, 'lines in Loki are too old to be read');
      metrics.lokiGaps.inc({ query: name, why: 'too-old' });
    }
    if (oldest > cursor.from) cursor = advance(cursor, oldest, [], 0n);
    for await (const page of pagesOf(ask, cursor.from, end, settings.page)) {
      if (page.cut) {
        log.warn({ query: name, at: `${page.through}` }, 'too many lines of one instant in Loki; some were not read');
        metrics.lokiGaps.inc({ query: name, why: 'one-instant' });
      }
      await take(page);
      if (signal.aborted) return;
    }
    if (now() - savedAt >= saveMs) await save();
    checkForLines();
  }

  /** The cursor moves on only when the workflows have the faults. */
  async function take({ lines, through }: Page): Promise<void> {
    const fresh: (readonly [string, bigint])[] = [];
    const sending: Promise<void>[] = [];
    const seen = new Set(cursor.sent.keys());
    for (const line of lines) {
      if (line.at > newest) newest = line.at;
      const result = resultOf(line);
      if (result.kind !== 'fault') {
        if (result.kind !== 'ordinary' && line.at >= readThrough) refuse(result.kind);
        continue;
      }
      const { fault, to } = result;
      if (seen.has(fault.id)) continue;
      seen.add(fault.id);
      const admitted = admit(fault);
      if (admitted === 'delayed') {
        if (line.at >= readThrough) metrics.lokiLines.inc({ query: name, result: 'delayed' });
        continue;
      }
      fresh.push([fault.id, line.at]);
      metrics.lokiLines.inc({ query: name, result: admitted });
      if (admitted === 'fault') {
        const sent = options.send(to, fault);
        // It may be rejected before all of them are awaited.
        sent.catch(() => undefined);
        sending.push(sent);
      }
      if (signal.aborted) return;
    }
    await Promise.all(sending);
    cursor = advance(cursor, through, fresh, overlap);
    readThrough = through;
    isBehind = false;
    if (fresh.length > 0) await save();
  }

  /** Logs the first, and then ever fewer: a wrong label concerns every line. */
  function refuse(kind: Refusal): void {
    metrics.lokiLines.inc({ query: name, result: kind });
    const count = (refused.get(kind) ?? 0) + 1;
    refused.set(kind, count);
    if (Number.isInteger(Math.log2(count)))
      log.warn({ query: name, count, because: kind }, 'a line of Loki is ignored');
  }

  /**
   * `suppressed`: it only repeats others. `delayed`: its node, or its pod, has more faults than may be sent now. No other waits for that, and
   * the line is read again as long as the overlap reaches it.
   */
  function admit(fault: Fault): 'fault' | 'suppressed' | 'delayed' {
    const { through, send } = rates.admit(fault.pod?.uid ?? fault.node ?? '', [{ seq: 1, fault }]);
    if (through.length === 0) return 'delayed';
    if (send.length === 0) return 'suppressed';
    log.warn(
      { query: name, node: fault.node, fault: fault.id, code: fault.code, because: fault.message },
      'fault seen in Loki',
    );
    return 'fault';
  }

  function checkForLines(): void {
    if (settings.silent === 0) return;
    const isSilent = ns(now() - settings.silent) > newest;
    if (isSilent !== wasSilent)
      log[isSilent ? 'warn' : 'info']({ query: name }, isSilent ? 'Loki has no new lines' : 'Loki has lines again');
    wasSilent = isSilent;
    metrics.lokiSilent.set({ query: name }, isSilent ? 1 : 0);
  }

  async function run(): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      let retryAfterMs = 0;
      try {
        await poll();
        if (failures > 0) log.info({ query: name }, 'Loki answers again');
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        if (error instanceof KcoverError) retryAfterMs = error.retryAfterMs ?? 0;
        if (Number.isInteger(Math.log2(failures))) logFailure(error, failures);
      }
      metrics.lokiUnavailable.set({ query: name }, failures > 0 ? 1 : 0);
      const pauseMs = Math.min(longestPauseMs, settings.interval * 2 ** Math.min(failures, 10));
      await pause(Math.max(settings.interval, pauseMs, retryAfterMs), signal);
    }
  }

  function logFailure(error: unknown, failures: number): void {
    if (error instanceof KcoverError)
      log.warn(
        { query: name, code: error.code, because: error.because, failures },
        `${error.message}; ${error.advice}`,
      );
    else log.error({ err: error, query: name, failures }, 'lines of Loki could not be read');
  }

  return { poll, run };
}
