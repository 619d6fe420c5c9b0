/** All queries of Loki that the settings name. */

import type { Logger } from 'pino';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { readLokiCursors, storeLokiCursor } from '../../kube/loki-cursors.ts';
import { type FaultLimits, limitFaults } from '../intake/fault-rates.ts';
import type { ControllerMetrics } from '../metrics.ts';
import { retryWhileLeading } from '../watch/retry-while-leading.ts';
import { formatCursor, parseCursor } from './cursor.ts';
import { resultOf } from './lines.ts';
import { podLineOf, type PodNamed } from './pod-lines.ts';
import { openPoller, type PollerOptions } from './poller.ts';
import { lokiRequest } from './request.ts';

export interface LokiWatchOptions {
  readonly settings: ControllerSettings['loki'];
  readonly limits: FaultLimits;
  readonly kube: Kube;
  /** kcover's own namespace, where the positions are stored. */
  readonly namespace: string;
  readonly isNode: (name: string) => boolean;
  readonly podNamed: PodNamed;
  /** Resolves when the nodes are known. */
  readonly nodesKnown: Promise<void>;
  /** Resolves when jobs and their pods are known. */
  readonly podsKnown: Promise<unknown>;
  readonly send: PollerOptions['send'];
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Does nothing without queries. */
export async function watchLoki(options: LokiWatchOptions): Promise<void> {
  const { settings, kube, namespace, isNode, podNamed, limits, metrics, log, signal } = options;
  const { queries, podQueries } = settings;
  if (queries.length + podQueries.length === 0) return;
  await options.nodesKnown;
  const stored = await retryWhileLeading('read the positions in Loki', { log, signal }, () =>
    readLokiCursors(kube, namespace),
  );
  if (!stored) return;
  // Apart, because lines that any account may push must not use up what the others need.
  const limiter = () => limitFaults(limits, () => performance.now());
  const rates = { trusted: limiter(), untrusted: limiter(), pods: limiter() };
  signal.addEventListener('abort', () => {
    metrics.lokiUnavailable.reset();
    metrics.lokiSilent.reset();
  });

  function poll(query: { name: string; query: string }, reading: Pick<PollerOptions, 'resultOf' | 'rates'>) {
    const { name } = query;
    const text = stored?.[name];
    const cursor = text === undefined ? undefined : parseCursor(text);
    if (text !== undefined && !cursor)
      log.warn({ query: name }, 'the stored position in Loki cannot be read; reading begins now');
    return openPoller({
      ...options,
      ...reading,
      name,
      cursor,
      ask: lokiRequest(settings, query.query, signal),
      save: (next) => storeLokiCursor(kube, namespace, name, formatCursor(next)),
      now: Date.now,
    }).run();
  }

  await Promise.all([
    ...queries.map((query) =>
      poll(query, {
        resultOf: (line) => resultOf(line, { ...query, isNode }),
        rates: query.trusted ? rates.trusted : rates.untrusted,
      }),
    ),
    ...podQueries.map(async (query) => {
      await options.podsKnown;
      await poll(query, { resultOf: (line) => podLineOf(line, query, podNamed), rates: rates.pods });
    }),
  ]);
}
