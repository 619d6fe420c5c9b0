/** Metrics of reading Loki, a part of the controller's table. */

export const lokiMetrics = {
  lokiUnavailable: {
    name: 'kcover_loki_unavailable',
    help: '1 while Loki does not answer this query of the settings: faults that only Loki has are unknown',
    labelNames: ['query'],
  },
  lokiSilent: {
    name: 'kcover_loki_silent',
    help: '1 while Loki answers this query and has had no new line for loki.silent',
    labelNames: ['query'],
  },
  lokiLines: {
    name: 'kcover_loki_faults_total',
    help: 'Lines of Loki that look like faults, by what became of them: fault, suppressed (repeats above intake.limits), delayed (more of one node or pod than intake.limits allow; read again within loki.overlap), user-space, no-node, unknown-node; of pods no-pod, other-pod (an earlier one of this name), not-opted-in',
    labelNames: ['query', 'result'],
  },
  lokiGaps: {
    name: 'kcover_loki_gaps_total',
    help: 'Times that lines of Loki were left out: too-old (loki.oldest), or one-instant (more than an answer holds)',
    labelNames: ['query', 'why'],
  },
} as const;
