/** The controller's metrics. */

import { Counter, Gauge, type Registry } from 'prom-client';
import type { Fault } from '../contract/faults/faults.ts';
import { traitsOf } from '../contract/faults/sources.ts';
import { metricTable } from '../contract/metrics/catalogue.ts';
import { gapKinds } from '../contract/wire/reports.ts';

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
  readonly temporalAnswers: Gauge;
  readonly recoveriesOpen: Gauge<'phase'>;
  readonly stormsOpen: Gauge;
  readonly unobservable: Gauge<'what'>;
  readonly recoveryLabelsIgnored: Counter;
  readonly lokiUnavailable: Gauge<'query'>;
  readonly lokiSilent: Gauge<'query'>;
  readonly lokiLines: Counter<'query' | 'result'>;
  readonly lokiGaps: Counter<'query' | 'why'>;
  readonly watchBreaks: Counter<'what'>;
  /** Counts a fault that Temporal accepted. */
  readonly faultAccepted: (fault: Pick<Fault, 'source' | 'code'>) => void;
}

/** Values that are read when the metrics are scraped. */
export interface Readings {
  readonly leading: () => boolean;
  readonly messagesWaiting: () => number;
  readonly agentsLive: () => number;
  /** Names of nodes. */
  readonly agentsSilent: () => readonly string[];
  /** Nodes that kcover quarantined, and since when: ms since the epoch. */
  readonly quarantines: () => ReadonlyMap<string, number>;
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
  new Gauge({
    ...table.quarantinedSince,
    registers,
    collect() {
      this.reset();
      for (const [node, since] of readings.quarantines()) this.set({ node }, since / 1000);
    },
  });
  const faults = new Counter({ ...table.faults, registers });
  const temporalAnswers = new Gauge({ ...table.temporalAnswers, registers });
  const stormsOpen = new Gauge({ ...table.stormsOpen, registers });
  // A gauge without labels begins at 0, which would say that Temporal does not answer, or that no storm is open.
  temporalAnswers.remove();
  stormsOpen.remove();
  const codeLabel = firstValues(mostCodes);
  const gaps = new Counter({ ...table.gaps, registers });
  // From zero on, so that the first gap is an increase.
  for (const what of gapKinds) gaps.inc({ what }, 0);

  return {
    reportsAccepted: new Counter({ ...table.reportsAccepted, registers }),
    reportsRepeated: new Counter({ ...table.reportsRepeated, registers }),
    faultsSuppressed: new Counter({ ...table.faultsSuppressed, registers }),
    rejected: new Counter({ ...table.rejected, registers }),
    gaps,
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
    temporalAnswers,
    recoveriesOpen: new Gauge({ ...table.recoveriesOpen, registers }),
    stormsOpen,
    unobservable: new Gauge({ ...table.unobservable, registers }),
    recoveryLabelsIgnored: new Counter({ ...table.recoveryLabelsIgnored, registers }),
    lokiUnavailable: new Gauge({ ...table.lokiUnavailable, registers }),
    lokiSilent: new Gauge({ ...table.lokiSilent, registers }),
    lokiLines: new Counter({ ...table.lokiLines, registers }),
    lokiGaps: new Counter({ ...table.lokiGaps, registers }),
    watchBreaks: new Counter({ ...table.watchBreaks, registers }),
    faultAccepted: ({ source, code }) => faults.inc({ about: traitsOf(source).about, code: codeLabel(code) }),
  };
}

/** How many codes get a series of their own: an agent or another program names its codes itself. */
const mostCodes = 300;

/** The first values as they are, and `other` for all further ones. */
function firstValues(most: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.size < most) known.add(value);
    return known.has(value) ? value : 'other';
  };
}
