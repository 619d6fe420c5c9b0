/**
 * Those metrics of Temporal's SDK that alerts and the dashboard read; a worker serves more of them. Counters end in `_total` and durations are
 * in seconds, because the worker asks the SDK for both.
 */

import type { MetricEntry } from './catalogue.ts';

export const temporalMetrics = {
  workflowTasksFailed: {
    name: 'temporal_workflow_task_execution_failed_total',
    help: 'Workflow tasks that failed, and are tried again',
    labelNames: ['workflow_type'],
  },
  slotsAvailable: {
    name: 'temporal_worker_task_slots_available',
    help: 'Tasks that the worker could begin now',
    labelNames: ['worker_type'],
  },
  workflowTaskWait: {
    name: 'temporal_workflow_task_schedule_to_start_latency_seconds',
    help: 'From the scheduling of a workflow task to its start',
    labelNames: ['task_queue'],
  },
  activityWait: {
    name: 'temporal_activity_schedule_to_start_latency_seconds',
    help: 'From the scheduling of an activity to its start',
    labelNames: ['task_queue'],
  },
  requestTime: {
    name: 'temporal_request_latency_seconds',
    help: 'Duration of requests to Temporal that do not wait for work',
    labelNames: ['operation'],
  },
} as const satisfies Readonly<Record<string, MetricEntry>>;
