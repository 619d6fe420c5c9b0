/** How a request is refused: answered, counted and logged, in the same way on every path. */

import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { type Rejection, rejections } from '../../contract/wire/reports.ts';
import type { ControllerMetrics } from '../metrics.ts';
import type { Refusal } from './reporter.ts';

export type Reject = (reply: FastifyReply, refusal: Refusal) => FastifyReply;

export interface RefusalsOptions {
  readonly metrics: Pick<ControllerMetrics, 'rejected'>;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  /** Monotonic, ms. */
  readonly now: () => number;
}

/**
 * After these the connection is closed. Unauthenticated senders keep none, because connections are limited, and the rest of their body is
 * not read. A standby must not keep an agent's connection either: the next one may reach the leader.
 */
const closing: ReadonlySet<Rejection> = new Set([
  'not-leading',
  'no-such-path',
  'unauthenticated',
  'other-account',
  'dead-pod',
]);

/** Each reason is logged at most this often, ms: any sender can cause a refusal, and a slow log would delay everything else. */
const everyMs = 1000;

export function openRefusals({ metrics, log, now }: RefusalsOptions): Reject {
  const reported = new Map<Rejection, { at: number; suppressed: number }>();

  function report({ rejection, because, internal }: Refusal, from: string): void {
    const before = reported.get(rejection);
    if (before && now() - before.at < everyMs) {
      before.suppressed += 1;
      return;
    }
    reported.set(rejection, { at: now(), suppressed: 0 });
    const suppressed = before?.suppressed ?? 0;
    const level = rejections[rejection] >= 500 && internal === undefined ? 'debug' : 'warn';
    log[level](
      { rejection, because: internal ?? because, from, ...(suppressed > 0 && { suppressed }) },
      'request refused',
    );
  }

  return (reply, refusal) => {
    const { rejection, because, retryAfterMs } = refusal;
    metrics.rejected.inc({ reason: rejection });
    report(refusal, reply.request.ip);
    if (closing.has(rejection)) reply.header('connection', 'close');
    if (retryAfterMs !== undefined) reply.header('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
    return reply.code(rejections[rejection]).send({ error: rejection, because });
  };
}
