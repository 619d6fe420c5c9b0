/** Counts the open recoveries by phase: only Temporal knows how long each of them has been held, because no process keeps that. */

import type { Logger } from 'pino';
import type { Gauge } from 'prom-client';
import type { Workflows } from '../temporal.ts';
import { pause } from './retry-while-leading.ts';

export interface OpenRecoveriesOptions {
  readonly workflows: Pick<Workflows, 'openRecoveries'>;
  readonly gauge: Gauge<'phase'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

/** Resolves when the signal aborts. Without an answer the gauge has no value, because an old count would hide the outage. */
export async function countOpenRecoveries(options: OpenRecoveriesOptions): Promise<void> {
  const { workflows, gauge, log, signal, everyMs = 30_000 } = options;
  while (!signal.aborted) {
    const counts = await workflows.openRecoveries().catch((error: unknown) => {
      log.debug({ err: error }, 'open recoveries cannot be counted now');
      return new Map<string, number>();
    });
    gauge.reset();
    if (!signal.aborted) for (const [phase, count] of counts) gauge.set({ phase }, count);
    await pause(everyMs, signal);
  }
  gauge.reset();
}
