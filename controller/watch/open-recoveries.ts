/** Asks Temporal for the open recoveries: no process keeps how many are held, and without a question nobody notices that Temporal is gone. */

import type { Logger } from 'pino';
import type { ControllerMetrics } from '../metrics.ts';
import type { Workflows } from '../temporal.ts';
import { pause } from './retry-while-leading.ts';

export interface OpenRecoveriesOptions {
  readonly workflows: Pick<Workflows, 'openRecoveries'>;
  readonly metrics: Pick<ControllerMetrics, 'recoveriesOpen' | 'temporalAnswers'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

/** Resolves when the signal aborts. Without an answer there is no count, because an old one would look like a current one. */
export async function countOpenRecoveries(options: OpenRecoveriesOptions): Promise<void> {
  const { workflows, metrics, log, signal, everyMs = 30_000 } = options;
  while (!signal.aborted) {
    const counts = await workflows.openRecoveries().catch((error: unknown) => {
      log.debug({ err: error }, 'open recoveries cannot be counted now');
      return undefined;
    });
    if (signal.aborted) break;
    metrics.temporalAnswers.set(counts ? 1 : 0);
    metrics.recoveriesOpen.reset();
    for (const [phase, count] of counts ?? []) metrics.recoveriesOpen.set({ phase }, count);
    await pause(everyMs, signal);
  }
  metrics.temporalAnswers.remove();
  metrics.recoveriesOpen.reset();
}
