/** A poller against lines in memory or over HTTP, with a clock of its own, and what it sent to the nodes. */

import pino from 'pino';
import { Registry } from 'prom-client';
import { type Cursor, formatCursor, parseCursor } from '../../../controller/loki/cursor.ts';
import { resultOf } from '../../../controller/loki/lines.ts';
import { openPoller, type Poller, type PollerOptions } from '../../../controller/loki/poller.ts';
import { limitFaults } from '../../../controller/intake/fault-rates.ts';
import { controllerMetrics } from '../../../controller/metrics.ts';
import type { Fault } from '../../../contract/faults/faults.ts';
import { controllerSettings } from '../../../contract/settings/settings.schema.ts';
import type { StoredLine } from '../../support/loki-server.ts';

export const hour = 3_600_000;
/** 2026-11-21T07:00:00Z */
export const start = Date.UTC(2026, 10, 21, 7);
export const ns = (ms: number): bigint => BigInt(ms) * 1_000_000n;

export const nodeLabel = 'k8s_node_name';

export const xid = (
  ms: number,
  text = '79, GPU has fallen off the bus.',
  more: Partial<StoredLine> = {},
): StoredLine => ({
  at: ns(start + ms),
  line: `NVRM: Xid (PCI:0000:5d:00): ${text}`,
  stream: { job: 'kernel', [nodeLabel]: 'gpu-1' },
  ...more,
});

export interface Rig {
  /** Everything that was sent, in order. */
  readonly sent: Fault[];
  readonly logged: string[];
  now: number;
  /** As the ConfigMap has it. */
  stored: string | undefined;
  /** Another controller, which continues where the last one stored that it was. */
  open(more?: Partial<PollerOptions>): Poller;
  metric(name: string): Promise<string>;
}

export function rigOf(ask: PollerOptions['ask'], settings: object = {}): Rig {
  const parsed = controllerSettings.parse({ loki: settings }).loki;
  const registry = new Registry();
  const logged: string[] = [];
  const metrics = controllerMetrics(registry, {
    leading: () => true,
    messagesWaiting: () => 0,
    agentsLive: () => 0,
    agentsSilent: () => [],
    quarantines: () => new Map(),
  });
  const rig: Rig = {
    sent: [],
    logged,
    now: start,
    stored: undefined,
    open: (more = {}) =>
      openPoller({
        name: 'kernel',
        settings: parsed,
        resultOf: (line) => resultOf(line, { nodeLabel, isNode: (name) => name.startsWith('gpu-'), trusted: true }),
        ask,
        cursor: rig.stored === undefined ? undefined : parseCursor(rig.stored),
        save(cursor: Cursor) {
          rig.stored = formatCursor(cursor);
          return Promise.resolve();
        },
        rates: limitFaults({ perMinute: 1e9, repeats: 1e9 }, () => 0),
        send(_, fault) {
          rig.sent.push(fault);
          return Promise.resolve();
        },
        now: () => rig.now,
        metrics,
        log: pino({ level: 'info' }, { write: (line: string) => logged.push(line) }),
        signal: new AbortController().signal,
        ...more,
      }),
    metric: (name) => registry.getSingleMetricAsString(name),
  };
  return rig;
}
