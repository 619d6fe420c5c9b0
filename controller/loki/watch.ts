/** All queries of Loki that the settings name. */

import type { Logger } from 'pino';
import type { Fault } from '../../contract/faults/faults.ts';
import type { ControllerSettings } from '../../contract/settings/settings.schema.ts';
import type { Kube } from '../../kube/client/connection.ts';
import { readLokiCursors, storeLokiCursor } from '../../kube/loki-cursors.ts';
import { type FaultLimits, limitFaults } from '../intake/fault-rates.ts';
import type { ControllerMetrics } from '../metrics.ts';
import { retryWhileLeading } from '../watch/retry-while-leading.ts';
import { formatCursor, parseCursor } from './cursor.ts';
import { openPoller } from './poller.ts';
import { lokiRequest } from './request.ts';

export interface LokiWatchOptions {
  readonly settings: ControllerSettings['loki'];
  readonly limits: FaultLimits;
  readonly kube: Kube;
  /** kcover's own namespace, where the positions are stored. */
  readonly namespace: string;
  readonly isNode: (name: string) => boolean;
  /** Resolves when the nodes are known. */
  readonly nodesKnown: Promise<void>;
  readonly send: (node: string, fault: Fault) => Promise<void>;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Does nothing without queries. */
export async function watchLoki(options: LokiWatchOptions): Promise<void> {
  const { settings, kube, namespace, isNode, nodesKnown, limits, metrics, log, signal } = options;
  if (settings.queries.length === 0) return;
  await nodesKnown;
  const stored = await retryWhileLeading('read the positions in Loki', { log, signal }, () =>
    readLokiCursors(kube, namespace),
  );
  if (!stored) return;
  // Apart, because lines that any account may push must not use up what the others need.
  const limiter = () => limitFaults(limits, () => performance.now());
  const rates = { trusted: limiter(), untrusted: limiter() };
  signal.addEventListener('abort', () => {
    metrics.lokiUnavailable.reset();
    metrics.lokiSilent.reset();
  });
  await Promise.all(
    settings.queries.map(async ({ name, query, nodeLabel, trusted }) => {
      const text = stored[name];
      const cursor = text === undefined ? undefined : parseCursor(text);
      if (text !== undefined && !cursor)
        log.warn({ query: name }, 'the stored position in Loki cannot be read; reading begins now');
      await openPoller({
        ...options,
        name,
        cursor,
        nodes: { nodeLabel, isNode, trusted },
        ask: lokiRequest(settings, query, signal),
        save: (next) => storeLokiCursor(kube, namespace, name, formatCursor(next)),
        rates: trusted ? rates.trusted : rates.untrusted,
        now: Date.now,
      }).run();
    }),
  );
}
