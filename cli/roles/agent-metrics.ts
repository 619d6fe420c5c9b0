/** Metrics of an agent, read from its status when they are scraped. */

import { Counter, Gauge, type Registry } from 'prom-client';
import type { AgentStatus } from '../../agent/index.ts';
import { metricTable } from '../../contract/metrics/catalogue.ts';

interface Plain {
  readonly name: string;
  readonly help: string;
}

export function agentMetrics(registry: Registry, status: () => AgentStatus): void {
  const registers = [registry];
  const table = metricTable.agent;

  const gauge = (entry: Plain, read: (status: AgentStatus) => number) =>
    new Gauge({
      ...entry,
      labelNames: [],
      registers,
      collect() {
        this.set(read(status()));
      },
    });
  gauge(table.waiting, ({ spool }) => spool.waiting);
  gauge(table.bytes, ({ spool }) => spool.bytes);
  gauge(table.onDisk, ({ spool }) => Number(spool.onDisk));
  gauge(table.failing, ({ reporter }) => reporter.failures);
  gauge(table.acceptedAt, ({ reporter }) =>
    reporter.lastAcceptedAt === undefined ? 0 : Date.parse(reporter.lastAcceptedAt) / 1000,
  );
  gauge(table.preflightWaiting, ({ preflight }) => preflight.waiting);
  gauge(table.preflightIgnored, ({ preflight }) => preflight.ignored);
  gauge(table.preflightUnavailable, ({ preflight }) => Number(preflight.unavailable !== undefined));
  gauge(table.preflightFailing, ({ preflight }) => preflight.failures);
  gauge(table.progressIgnored, ({ progress }) => progress.ignored);
  gauge(table.progressUnavailable, ({ progress }) => Number(progress.unavailable !== undefined));
  gauge(table.progressFailing, ({ progress }) => progress.failures);
  gauge(table.logsFollowed, ({ logs }) => logs.followed);
  gauge(table.logsUnavailable, ({ logs }) => Number(logs.unavailable !== undefined));

  /** A counter whose sums are counted elsewhere and copied when it is read. */
  const counter = (
    entry: Plain & { readonly labelNames: readonly string[] },
    read: (status: AgentStatus) => Iterable<readonly [string, number]>,
  ) =>
    new Counter({
      ...entry,
      labelNames: [...entry.labelNames],
      registers,
      collect() {
        this.reset();
        const [label] = entry.labelNames;
        for (const [value, sum] of read(status())) this.inc(label === undefined ? {} : { [label]: value }, sum);
      },
    });
  counter(table.dropped, ({ spool }) => [['', spool.dropped]]);
  counter(table.gaps, ({ spool }) => spool.gaps);
  counter(table.sent, ({ reporter }) => [['', reporter.sent]]);
  counter(table.refused, ({ reporter }) => reporter.refused);
  counter(table.preflightAccepted, ({ preflight }) => [['', preflight.accepted]]);
  counter(table.preflightRefused, ({ preflight }) => preflight.refused);
  counter(table.progressSent, ({ progress }) => [['', progress.sent]]);
  counter(table.progressUnusable, ({ progress }) => [['', progress.unusable]]);
  counter(table.logLines, ({ logs }) => [['', logs.lines]]);
  counter(table.logSkipped, ({ logs }) => [['', logs.skipped]]);
  counter(table.read, ({ detectors }) => Object.entries(detectors).map(([name, { read }]) => [name, read] as const));

  new Gauge({
    ...table.detectorUnavailable,
    registers,
    collect() {
      for (const [detector, { state }] of Object.entries(status().detectors))
        this.set({ detector }, Number(state === 'unavailable'));
    },
  });
}
