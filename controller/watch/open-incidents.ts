/** Asks Temporal for open recoveries and storms: no process keeps how many there are, and without a question no one notices that Temporal is gone. */

import type { Logger } from 'pino';
import type { ControllerMetrics } from '../metrics.ts';
import type { Workflows } from '../temporal.ts';
import { pause } from './retry-while-leading.ts';

export interface OpenIncidentsOptions {
  readonly workflows: Pick<Workflows, 'openRecoveries' | 'openStorms'>;
  readonly metrics: Pick<ControllerMetrics, 'recoveriesOpen' | 'stormsOpen' | 'temporalAnswers'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly everyMs?: number;
}

/** Resolves when the signal aborts. Without an answer there is no count, because an old one would look like a current one. */
export async function countOpenIncidents(options: OpenIncidentsOptions): Promise<void> {
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
    // A workflow answers only while a worker runs, which says nothing about Temporal.
    const storms = await workflows.openStorms().catch((error: unknown) => {
      log.debug({ err: error }, 'open storms cannot be counted now');
      return undefined;
    });
    if (signal.aborted) break;
    if (storms === undefined) metrics.stormsOpen.remove();
    else metrics.stormsOpen.set(storms);
    await pause(everyMs, signal);
  }
  metrics.temporalAnswers.remove();
  metrics.recoveriesOpen.reset();
  metrics.stormsOpen.remove();
}
