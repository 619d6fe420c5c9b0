/**
 * All metrics of kcover, by role. Registries, the reference page, alerts and the dashboard are made from this table.
 * A name that ends in `_total` is a counter, one with buckets a histogram, every other a gauge. Units are base units: seconds and bytes.
 * Labels are bounded: no job, no incident, no pod.
 */

import { agentMetrics } from './agent.ts';
import { lokiMetrics } from './loki.ts';

/** Fields as in the metrics library. */
export interface MetricEntry {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Upper bounds of a histogram, in the unit of the name. */
  readonly buckets?: readonly number[];
}

/** From 10 s, each 1.5 times the one before, up to 4 days: a recovery takes seconds, or waits for a person over a weekend. */
const recoveryBuckets: readonly number[] = Array.from({ length: 27 }, (_, step) => Math.round(10 * 1.5 ** step));

export const metricTable = {
  every: {
    build: {
      name: 'kcover_build_info',
      help: 'Always 1; the labels name role and version',
      labelNames: ['role', 'version'],
    },
  },
  controller: {
    leading: { name: 'kcover_leading', help: '1 while this controller leads', labelNames: [] },
    messagesWaiting: {
      name: 'kcover_messages_waiting',
      help: 'Messages to workflows that Temporal has not accepted yet',
      labelNames: [],
    },
    agentsLive: {
      name: 'kcover_agents_live',
      help: 'Agents that reported within agents.silent, a setting of the controller',
      labelNames: [],
    },
    agentsSilent: {
      name: 'kcover_agent_silent',
      help: '1 for each node with accelerators whose agent has not reported to this leader for agents.silent; none before it has led for that long',
      labelNames: ['node'],
    },
    reportsAccepted: {
      name: 'kcover_intake_accepted_total',
      help: 'Reports of agents that Temporal accepted',
      labelNames: [],
    },
    reportsRepeated: {
      name: 'kcover_intake_repeated_total',
      help: 'Reports of agents that were accepted before',
      labelNames: [],
    },
    faultsSuppressed: {
      name: 'kcover_intake_suppressed_total',
      help: 'Faults that repeat a code on a device more often than intake.limits allows: accepted, and not sent to workflows',
      labelNames: [],
    },
    rejected: {
      name: 'kcover_intake_rejected_total',
      help: 'Requests of agents that were rejected',
      labelNames: ['reason'],
    },
    certificateExpiry: {
      name: 'kcover_intake_certificate_expiry_timestamp_seconds',
      help: 'When the certificate of the intake expires; agents cannot report after that',
      labelNames: [],
    },
    gaps: {
      name: 'kcover_intake_gaps_total',
      help: 'Gaps that agents reported: kernel lines or reports that were lost',
      labelNames: ['what'],
    },
    externalReports: {
      name: 'kcover_external_reports_total',
      help: 'Reports of other programs by sender, and by what became of them',
      labelNames: ['sender', 'result'],
    },
    preflightReports: {
      name: 'kcover_preflight_reports_total',
      help: 'Preflight reports of agents by answer; a repeated upload counts again',
      labelNames: ['answer'],
    },
    preflightRefused: {
      name: 'kcover_preflight_refused_total',
      help: 'Preflight reports that were refused, by the unusable field or another reason',
      labelNames: ['reason'],
    },
    progressFiles: {
      name: 'kcover_progress_files_total',
      help: 'Progress files of agents by answer: counted, or why not; a repeated upload counts again',
      labelNames: ['answer'],
    },
    logReports: {
      name: 'kcover_log_reports_total',
      help: 'Reports about container logs by answer: counted, or why not; a repeated one counts again',
      labelNames: ['answer'],
    },
    progressOdd: {
      name: 'kcover_progress_odd_total',
      help: 'Progress reports that contradict themselves or earlier ones, by kind',
      labelNames: ['what'],
    },
    progressWrites: {
      name: 'kcover_progress_writes_total',
      help: 'Writes of the progress annotations of jobs, by result',
      labelNames: ['result'],
    },
    trainingHangs: {
      name: 'kcover_training_hangs_total',
      help: 'Training hangs that were detected; a new leader counts a lasting one again',
      labelNames: [],
    },
    trainingSlowdowns: {
      name: 'kcover_training_slowdowns_total',
      help: 'Slowdowns of training that were detected',
      labelNames: [],
    },
    signalsSent: { name: 'kcover_signals_sent_total', help: 'Calls that Temporal accepted', labelNames: ['signal'] },
    signalFailures: {
      name: 'kcover_signal_failures_total',
      help: 'Calls that Temporal did not accept, each attempt counted',
      labelNames: ['signal'],
    },
    faults: {
      name: 'kcover_faults_total',
      help: 'Faults that Temporal accepted, whatever reported them, by what they are about (node, pod or job); codes beyond the first 300 count as other',
      labelNames: ['about', 'code'],
    },
    quarantinedSince: {
      name: 'kcover_node_quarantine_start_timestamp_seconds',
      help: 'When kcover began to quarantine the node; only nodes with its taint, and only of the leader',
      labelNames: ['node'],
    },
    temporalAnswers: {
      name: 'kcover_temporal_answers',
      help: '1 while Temporal answers the leader, 0 while it does not; asked every 30 s, none of another controller',
      labelNames: [],
    },
    recoveriesOpen: {
      name: 'kcover_recoveries_open',
      help: 'Recoveries that have not ended, by phase; read from Temporal by the leader every 30 s, no value while Temporal does not answer',
      labelNames: ['phase'],
    },
    stormsOpen: {
      name: 'kcover_storms_open',
      help: 'Open storms: several nodes of one place with one cause; asked of the workflow of the cluster by the leader every 30 s, no value while it does not answer',
      labelNames: [],
    },
    unobservable: {
      name: 'kcover_nodes_unobservable',
      help: 'Nodes of which a condition is Unknown or gone, whose device plugin offers nothing, or whose ConfigMap or NodeD of Ascend says nothing usable, by condition, resource or observer',
      labelNames: ['what'],
    },
    recoveryLabelsIgnored: {
      name: 'kcover_recovery_labels_ignored_total',
      help: 'need-recovery labels on jobs that are not supervised',
      labelNames: [],
    },
    ...lokiMetrics,
    watchBreaks: { name: 'kcover_watch_breaks_total', help: 'Outages of Kubernetes watches', labelNames: ['what'] },
  },
  worker: {
    decisions: {
      name: 'kcover_decisions_total',
      help: 'Decisions of policy, by subject and result',
      labelNames: ['about', 'kind'],
    },
    held: {
      name: 'kcover_held_total',
      help: 'Times that a quarantine or a recovery had to wait',
      labelNames: ['what'],
    },
    quarantines: {
      name: 'kcover_quarantines_total',
      help: 'Nodes quarantined; `other`: the taint was already there, set by another client',
      labelNames: ['taint'],
    },
    releases: { name: 'kcover_releases_total', help: 'Nodes released', labelNames: [] },
    stops: { name: 'kcover_stops_total', help: 'Attempts stopped, by method and result', labelNames: ['by', 'result'] },
    forced: {
      name: 'kcover_pods_forced_total',
      help: 'Pods deleted by force: their processes were not observed to end',
      labelNames: [],
    },
    recoveries: { name: 'kcover_recoveries_total', help: 'Recoveries that ended', labelNames: ['outcome'] },
    recoverySeconds: {
      name: 'kcover_recovery_duration_seconds',
      help: 'From the start of a recovery to its end',
      labelNames: ['outcome'],
      buckets: recoveryBuckets,
    },
    repairs: { name: 'kcover_repairs_total', help: 'Repairs of nodes that ended', labelNames: ['outcome'] },
    stuck: {
      name: 'kcover_recoveries_stuck_total',
      help: 'Checks that found a recovery whose workflow task keeps failing; one every five minutes while that lasts',
      labelNames: [],
    },
    notifications: {
      name: 'kcover_notifications_total',
      help: 'Requests that a receiver of notifications has taken',
      labelNames: ['route'],
    },
    notificationFailures: {
      name: 'kcover_notification_failures_total',
      help: 'Requests that a receiver of notifications has not taken, by error code; after notify.refused it is not tried again',
      labelNames: ['route', 'code'],
    },
    failures: {
      name: 'kcover_activity_failures_total',
      help: 'Failed attempts of activities, by error code',
      labelNames: ['activity', 'code'],
    },
  },
  agent: agentMetrics,
} as const satisfies Record<string, Readonly<Record<string, MetricEntry>>>;
