/** Metrics of the agent, a part of the table of all metrics. */

export const agentMetrics = {
  waiting: {
    name: 'kcover_agent_spool_waiting',
    help: 'Reports that the controller has not accepted yet',
    labelNames: [],
  },
  bytes: { name: 'kcover_agent_spool_bytes', help: 'Size of the spool file', labelNames: [] },
  onDisk: { name: 'kcover_agent_spool_on_disk', help: '1 while the spool can be written to disk', labelNames: [] },
  dropped: { name: 'kcover_agent_spool_dropped_total', help: 'Reports that a full spool dropped', labelNames: [] },
  gaps: {
    name: 'kcover_agent_gaps_total',
    help: 'Gaps reported to the controller: kernel lines or reports that were lost',
    labelNames: ['what'],
  },
  sent: { name: 'kcover_agent_reports_sent_total', help: 'Reports that the controller accepted', labelNames: [] },
  refused: {
    name: 'kcover_agent_requests_refused_total',
    help: 'Requests that the controller did not accept',
    labelNames: ['reason'],
  },
  failing: { name: 'kcover_agent_report_failures', help: 'Consecutive failed attempts to report', labelNames: [] },
  acceptedAt: {
    name: 'kcover_agent_last_accepted_timestamp_seconds',
    help: 'When the controller last accepted a report or a heartbeat; 0 before the first',
    labelNames: [],
  },
  detectorUnavailable: {
    name: 'kcover_agent_detector_unavailable',
    help: '1 while a detector cannot read its source',
    labelNames: ['detector'],
  },
  preflightWaiting: {
    name: 'kcover_agent_preflight_waiting',
    help: 'Preflight report files that have no answer yet',
    labelNames: [],
  },
  preflightAccepted: {
    name: 'kcover_agent_preflight_accepted_total',
    help: 'Preflight report files that Temporal accepted',
    labelNames: [],
  },
  preflightRefused: {
    name: 'kcover_agent_preflight_refused_total',
    help: 'Preflight report files that were refused, by the unusable field or another reason',
    labelNames: ['reason'],
  },
  preflightIgnored: {
    name: 'kcover_agent_preflight_ignored',
    help: 'Entries among the report files that are no report file, or exceed the limit',
    labelNames: [],
  },
  preflightUnavailable: {
    name: 'kcover_agent_preflight_unavailable',
    help: '1 while the report files cannot be read',
    labelNames: [],
  },
  preflightFailing: {
    name: 'kcover_agent_preflight_failures',
    help: 'Consecutive failed attempts to send report files',
    labelNames: [],
  },
  progressSent: {
    name: 'kcover_agent_progress_sent_total',
    help: 'Progress files of trainers that reached the controller; a repeated upload counts again',
    labelNames: [],
  },
  progressUnusable: {
    name: 'kcover_agent_progress_unusable_total',
    help: 'Progress files that cannot be used, each version counted',
    labelNames: [],
  },
  progressIgnored: {
    name: 'kcover_agent_progress_ignored',
    help: 'Entries among the progress files that are no progress file, or exceed the limit',
    labelNames: [],
  },
  progressUnavailable: {
    name: 'kcover_agent_progress_unavailable',
    help: '1 while the progress files cannot be read',
    labelNames: [],
  },
  progressFailing: {
    name: 'kcover_agent_progress_failures',
    help: 'Consecutive failed attempts to send progress files',
    labelNames: [],
  },
  logsFollowed: { name: 'kcover_agent_logs_followed', help: 'Container logs that are followed now', labelNames: [] },
  logsUnavailable: {
    name: 'kcover_agent_logs_unavailable',
    help: '1 while a wanted log cannot be read',
    labelNames: [],
  },
  logLines: { name: 'kcover_agent_log_lines_total', help: 'Lines of container logs that were read', labelNames: [] },
  logSkipped: {
    name: 'kcover_agent_log_skipped_bytes_total',
    help: 'Bytes of logs that were written too fast to be read',
    labelNames: [],
  },
  read: {
    name: 'kcover_agent_detector_lines_total',
    help: 'Lines that a detector has read',
    labelNames: ['detector'],
  },
} as const;
