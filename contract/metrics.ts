/**
 * Every metric of kcover's own, by role: what a registry is made from, and the reference page too.
 * A name that ends in `_total` is a counter, every other a gauge. Labels are bounded: no job, no incident.
 */

/** As the metrics library takes it. */
export interface MetricEntry {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

export const metricTable = {
  every: {
    build: { name: 'kcover_build_info', help: 'Always 1; the labels say what runs', labelNames: ['role', 'version'] },
  },
  controller: {
    leading: { name: 'kcover_leading', help: '1 while this controller leads', labelNames: [] },
    messagesWaiting: { name: 'kcover_messages_waiting', help: 'Facts that Temporal has not taken yet', labelNames: [] },
    agentsLive: { name: 'kcover_agents_live', help: 'Agents heard within agents.silent, a setting of the controller', labelNames: [] },
    agentsSilent: {
      name: 'kcover_agent_silent',
      help: '1 for each node with accelerators whose agent this leader has not heard for agents.silent; none before it has led for so long',
      labelNames: ['node'],
    },
    reportsAccepted: { name: 'kcover_intake_accepted_total', help: 'Reports of agents that Temporal took', labelNames: [] },
    reportsRepeated: { name: 'kcover_intake_repeated_total', help: 'Reports of agents that were taken before', labelNames: [] },
    faultsSuppressed: {
      name: 'kcover_intake_suppressed_total',
      help: 'Faults that repeat one of the same code and device more often than intake.limits allows: taken, and not told to workflows',
      labelNames: [],
    },
    rejected: { name: 'kcover_intake_rejected_total', help: 'Requests of agents that were not taken', labelNames: ['reason'] },
    certificateExpiry: {
      name: 'kcover_intake_certificate_expiry_timestamp_seconds',
      help: 'When the certificate of the intake expires; agents report nothing any more from then on',
      labelNames: [],
    },
    gaps: { name: 'kcover_intake_gaps_total', help: 'Times that an agent said it missed something', labelNames: ['what'] },
    preflightReports: { name: 'kcover_preflight_reports_total', help: 'Preflight reports of agents, each sending counted, by answer', labelNames: ['answer'] },
    preflightRefused: {
      name: 'kcover_preflight_refused_total',
      help: 'Preflight reports that count for nothing, by the field that cannot be used or another reason',
      labelNames: ['reason'],
    },
    progressFiles: {
      name: 'kcover_progress_files_total',
      help: 'Progress files of agents, each sending counted: counted, or why they do not count',
      labelNames: ['answer'],
    },
    progressOdd: { name: 'kcover_progress_odd_total', help: 'Progress that contradicts itself or what was said before, by what was odd', labelNames: ['what'] },
    progressWrites: {
      name: 'kcover_progress_writes_total',
      help: 'Writes of the progress annotations of jobs, by what became of them',
      labelNames: ['result'],
    },
    trainingHangs: { name: 'kcover_training_hangs_total', help: 'Times that training was seen to stand still, by each leader anew', labelNames: [] },
    signalsSent: { name: 'kcover_signals_sent_total', help: 'Calls that Temporal took', labelNames: ['signal'] },
    signalFailures: { name: 'kcover_signal_failures_total', help: 'Calls that Temporal did not take, each try counted', labelNames: ['signal'] },
    podFaults: { name: 'kcover_pod_faults_total', help: 'Pod failures told to workflows', labelNames: ['code'] },
    recoveryLabelsIgnored: { name: 'kcover_recovery_labels_ignored_total', help: 'need-recovery labels on jobs that are not supervised', labelNames: [] },
    watchBreaks: { name: 'kcover_watch_breaks_total', help: 'Outages of watches', labelNames: ['what'] },
  },
  worker: {
    decisions: { name: 'kcover_decisions_total', help: 'Decisions of policy, by what they are about and what was decided', labelNames: ['about', 'kind'] },
    held: { name: 'kcover_held_total', help: 'Times that a quarantine or a recovery had to wait', labelNames: ['what'] },
    quarantines: { name: 'kcover_quarantines_total', help: 'Nodes taken out; `other`: the taint was there and is not ours', labelNames: ['taint'] },
    releases: { name: 'kcover_releases_total', help: 'Nodes given back', labelNames: [] },
    stops: { name: 'kcover_stops_total', help: 'Attempts stopped, by method and what became of it', labelNames: ['by', 'result'] },
    forced: { name: 'kcover_pods_forced_total', help: 'Pods deleted by force: nobody saw their processes end', labelNames: [] },
    recoveries: { name: 'kcover_recoveries_total', help: 'Recoveries that ended', labelNames: ['outcome'] },
    stuck: {
      name: 'kcover_recoveries_stuck_total',
      help: 'Looks that found a recovery whose workflow task fails again and again, one every five minutes while that is so',
      labelNames: [],
    },
    failures: { name: 'kcover_activity_failures_total', help: 'Tries of activities that failed, by error code', labelNames: ['activity', 'code'] },
  },
  agent: {
    waiting: { name: 'kcover_agent_spool_waiting', help: 'Reports that the controller has not taken yet', labelNames: [] },
    bytes: { name: 'kcover_agent_spool_bytes', help: 'Size of the spool file', labelNames: [] },
    onDisk: { name: 'kcover_agent_spool_on_disk', help: '1 while the spool can be written to disk', labelNames: [] },
    dropped: { name: 'kcover_agent_spool_dropped_total', help: 'Reports that a full spool dropped', labelNames: [] },
    gaps: { name: 'kcover_agent_gaps_total', help: 'Times that something was missed, told to the controller', labelNames: ['what'] },
    sent: { name: 'kcover_agent_reports_sent_total', help: 'Reports that the controller took', labelNames: [] },
    refused: { name: 'kcover_agent_requests_refused_total', help: 'Requests that the controller did not take', labelNames: ['reason'] },
    failing: { name: 'kcover_agent_report_failures', help: 'Failed tries to report, in a row', labelNames: [] },
    acceptedAt: {
      name: 'kcover_agent_last_accepted_timestamp_seconds',
      help: 'When the controller last took a report or a heartbeat; 0 before the first',
      labelNames: [],
    },
    detectorUnavailable: { name: 'kcover_agent_detector_unavailable', help: '1 while a detector cannot see', labelNames: ['detector'] },
    preflightWaiting: { name: 'kcover_agent_preflight_waiting', help: 'Report files of preflight that have no answer yet', labelNames: [] },
    preflightAccepted: { name: 'kcover_agent_preflight_accepted_total', help: 'Report files of preflight that Temporal took', labelNames: [] },
    preflightRefused: {
      name: 'kcover_agent_preflight_refused_total',
      help: 'Report files of preflight that count for nothing, by the field that cannot be used or the reason',
      labelNames: ['reason'],
    },
    preflightIgnored: { name: 'kcover_agent_preflight_ignored', help: 'What stands among the report files and is none, or is one too many', labelNames: [] },
    preflightUnavailable: { name: 'kcover_agent_preflight_unavailable', help: '1 while the report files cannot be looked at', labelNames: [] },
    preflightFailing: { name: 'kcover_agent_preflight_failures', help: 'Failed tries to send report files, in a row', labelNames: [] },
    progressSent: {
      name: 'kcover_agent_progress_sent_total',
      help: 'Progress files of trainers that reached the controller, each sending counted',
      labelNames: [],
    },
    progressUnusable: { name: 'kcover_agent_progress_unusable_total', help: 'Progress files that cannot be used, each version counted', labelNames: [] },
    progressIgnored: { name: 'kcover_agent_progress_ignored', help: 'What stands among the progress files and is none, or is one too many', labelNames: [] },
    progressUnavailable: { name: 'kcover_agent_progress_unavailable', help: '1 while the progress files cannot be looked at', labelNames: [] },
    progressFailing: { name: 'kcover_agent_progress_failures', help: 'Failed tries to send progress files, in a row', labelNames: [] },
    read: { name: 'kcover_agent_detector_lines_total', help: 'Lines that a detector has read', labelNames: ['detector'] },
  },
} as const satisfies Record<string, Readonly<Record<string, MetricEntry>>>;
