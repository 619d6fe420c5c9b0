/** The controller's metrics. */

import { Counter, Gauge, type Registry } from 'prom-client';
import { metricTable } from '../contract/metrics/catalogue.ts';

export interface ControllerMetrics {
  readonly reportsAccepted: Counter;
  readonly reportsRepeated: Counter;
  readonly faultsSuppressed: Counter;
  readonly rejected: Counter<'reason'>;
  readonly gaps: Counter<'what'>;
  readonly externalReports: Counter<'sender' | 'result'>;
  readonly preflightReports: Counter<'answer'>;
  readonly preflightRefused: Counter<'reason'>;
  readonly progressFiles: Counter<'answer'>;
  readonly logReports: Counter<'answer'>;
  readonly progressOdd: Counter<'what'>;
  readonly progressWrites: Counter<'result'>;
  readonly trainingHangs: Counter;
  readonly trainingSlowdowns: Counter;
  readonly signalsSent: Counter<'signal'>;
  readonly signalFailures: Counter<'signal'>;
  readonly podFaults: Counter<'code'>;
  readonly nodeFaults: Counter<'code'>;
  readonly unobservable: Gauge<'what'>;
  readonly recoveryLabelsIgnored: Counter;
  readonly lokiUnavailable: Gauge<'query'>;
  readonly lokiSilent: Gauge<'query'>;
  readonly lokiLines: Counter<'query' | 'result'>;
  readonly lokiGaps: Counter<'query' | 'why'>;
  readonly watchBreaks: Counter<'what'>;
}

/** Values that are read when the metrics are scraped. */
export interface Readings {
  readonly leading: () => boolean;
  readonly messagesWaiting: () => number;
  readonly agentsLive: () => number;
  /** Names of nodes. */
  readonly agentsSilent: () => readonly string[];
}

/** `expires`: ms since the epoch. */
export function certificateMetric(registry: Registry, expires: () => number): void {
  new Gauge({
    ...metricTable.controller.certificateExpiry,
    labelNames: [],
    registers: [registry],
    collect() {
      this.set(expires() / 1000);
    },
  });
}

export function controllerMetrics(registry: Registry, readings: Readings): ControllerMetrics {
  const registers = [registry];
  const table = metricTable.controller;
  const gauge = (entry: { readonly name: string; readonly help: string }, read: () => number) =>
    new Gauge({
      ...entry,
      labelNames: [],
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge(table.leading, () => (readings.leading() ? 1 : 0));
  gauge(table.messagesWaiting, readings.messagesWaiting);
  gauge(table.agentsLive, readings.agentsLive);
  new Gauge({
    ...table.agentsSilent,
    registers,
    collect() {
      this.reset();
      for (const node of readings.agentsSilent()) this.set({ node }, 1);
    },
  });

  return {
    reportsAccepted: new Counter({ ...table.reportsAccepted, registers }),
    reportsRepeated: new Counter({ ...table.reportsRepeated, registers }),
    faultsSuppressed: new Counter({ ...table.faultsSuppressed, registers }),
    rejected: new Counter({ ...table.rejected, registers }),
    gaps: new Counter({ ...table.gaps, registers }),
    externalReports: new Counter({ ...table.externalReports, registers }),
    preflightReports: new Counter({ ...table.preflightReports, registers }),
    preflightRefused: new Counter({ ...table.preflightRefused, registers }),
    progressFiles: new Counter({ ...table.progressFiles, registers }),
    logReports: new Counter({ ...table.logReports, registers }),
    progressOdd: new Counter({ ...table.progressOdd, registers }),
    progressWrites: new Counter({ ...table.progressWrites, registers }),
    trainingHangs: new Counter({ ...table.trainingHangs, registers }),
    trainingSlowdowns: new Counter({ ...table.trainingSlowdowns, registers }),
    signalsSent: new Counter({ ...table.signalsSent, registers }),
    signalFailures: new Counter({ ...table.signalFailures, registers }),
    podFaults: new Counter({ ...table.podFaults, registers }),
    nodeFaults: new Counter({ ...table.nodeFaults, registers }),
    unobservable: new Gauge({ ...table.unobservable, registers }),
    recoveryLabelsIgnored: new Counter({ ...table.recoveryLabelsIgnored, registers }),
    lokiUnavailable: new Gauge({ ...table.lokiUnavailable, registers }),
    lokiSilent: new Gauge({ ...table.lokiSilent, registers }),
    lokiLines: new Counter({ ...table.lokiLines, registers }),
    lokiGaps: new Counter({ ...table.lokiGaps, registers }),
    watchBreaks: new Counter({ ...table.watchBreaks, registers }),
  };
}
