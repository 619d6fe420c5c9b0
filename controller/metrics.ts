/** What the controller counts. Names are written here once. */

import { Counter, Gauge, type Registry } from 'prom-client';

export interface ControllerMetrics {
  readonly reportsAccepted: Counter;
  readonly reportsRepeated: Counter;
  readonly rejected: Counter<'reason'>;
  readonly gaps: Counter<'what'>;
  readonly signalsSent: Counter<'signal'>;
  readonly signalFailures: Counter<'signal'>;
  readonly podFaults: Counter<'code'>;
  readonly wishesIgnored: Counter;
  readonly watchBreaks: Counter<'what'>;
}

/** Values that are read when somebody looks. */
export interface Readings {
  readonly leading: () => boolean;
  readonly lettersWaiting: () => number;
  readonly agentsHeard: () => number;
}

export function controllerMetrics(registry: Registry, readings: Readings): ControllerMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('kcover_leading', '1 while this controller leads', () => (readings.leading() ? 1 : 0));
  gauge('kcover_letters_waiting', 'Facts that Temporal has not taken yet', readings.lettersWaiting);
  gauge('kcover_agents_heard', 'Agents heard within the last minute', readings.agentsHeard);

  return {
    reportsAccepted: new Counter({ name: 'kcover_intake_accepted_total', help: 'Reports of agents that Temporal took', registers }),
    reportsRepeated: new Counter({ name: 'kcover_intake_repeated_total', help: 'Reports of agents that were taken before', registers }),
    rejected: new Counter({ name: 'kcover_intake_rejected_total', help: 'Requests of agents that were not taken', labelNames: ['reason'], registers }),
    gaps: new Counter({ name: 'kcover_intake_gaps_total', help: 'Times that an agent said it missed something', labelNames: ['what'], registers }),
    signalsSent: new Counter({ name: 'kcover_signals_sent_total', help: 'Calls that Temporal took', labelNames: ['signal'], registers }),
    signalFailures: new Counter({
      name: 'kcover_signal_failures_total',
      help: 'Calls that Temporal did not take, each try counted',
      labelNames: ['signal'],
      registers,
    }),
    podFaults: new Counter({ name: 'kcover_pod_faults_total', help: 'Pod failures told to workflows', labelNames: ['code'], registers }),
    wishesIgnored: new Counter({ name: 'kcover_recovery_labels_ignored_total', help: 'need-recovery labels on jobs that are not supervised', registers }),
    watchBreaks: new Counter({ name: 'kcover_watch_breaks_total', help: 'Outages of watches', labelNames: ['what'], registers }),
  };
}
