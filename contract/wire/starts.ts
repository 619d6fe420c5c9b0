/** Start options of all workflows: names, ids, arguments. The caller, which has the SDK, adds typed search attributes. */

import type { ClusterInput } from '../cluster.ts';
import {
  clusterWorkflowId,
  jobWorkflowId,
  maintenanceWorkflowId,
  nodeWorkflowId,
  notifyWorkflowId,
  preflightWorkflowId,
  workflowTypes,
} from '../ids.ts';
import { type JobRef, jobTitle } from '../job/jobs.ts';
import type { MaintenanceInput } from '../node/maintenance.ts';
import type { NodeInput } from '../node/nodes.ts';
import type { NotifyInput } from '../notify/notification.ts';
import type { Workload } from '../preflight/preflight.ts';
import type { PreflightInput } from '../preflight/runs.ts';
import type { AttributeValues } from './search-attributes.ts';
import type { JobInput } from '../job/training-job.ts';

/** Options of a start or signal-with-start, without the signal. */
export interface WorkflowStart<Input> {
  readonly workflowType: string;
  readonly workflowId: string;
  readonly taskQueue: string;
  readonly args: [Input];
  readonly workflowIdReusePolicy: 'ALLOW_DUPLICATE';
  /** One line of Markdown for the list page of the UI. */
  readonly staticSummary: string;
  /** Values of the search attributes at the start. */
  readonly attributes: AttributeValues;
}

/** The workflow that looks after one job. */
export const jobStart = (job: JobRef, taskQueue: string): WorkflowStart<JobInput> => ({
  workflowType: workflowTypes.trainingJob,
  workflowId: jobWorkflowId(job),
  taskQueue,
  args: [{ job }],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  staticSummary: `looks after ${jobTitle(job)} in ${job.namespace}`,
  attributes: { KcoverNamespace: job.namespace, KcoverJob: job.name, KcoverPhase: 'starting' },
});

/** The workflow that quarantines and looks after one node. */
export const nodeStart = (node: string, taskQueue: string): WorkflowStart<NodeInput> => ({
  workflowType: workflowTypes.nodeQuarantine,
  workflowId: nodeWorkflowId(node),
  taskQueue,
  args: [{ node }],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  staticSummary: `looks after node ${node}`,
  attributes: { KcoverNode: [node], KcoverPhase: 'watching' },
});

/** The workflow of a planned maintenance. */
export const maintenanceStart = (input: MaintenanceInput, taskQueue: string): WorkflowStart<MaintenanceInput> => ({
  workflowType: workflowTypes.maintenance,
  workflowId: maintenanceWorkflowId(input.node),
  taskQueue,
  args: [input],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  staticSummary: `planned maintenance of node ${input.node}`,
  attributes: { KcoverNode: [input.node], KcoverPhase: 'planned' },
});

/** The workflow that collects the preflight reports of one workload. */
export const preflightStart = (workload: Workload, taskQueue: string): WorkflowStart<PreflightInput> => ({
  workflowType: workflowTypes.preflight,
  workflowId: preflightWorkflowId(workload),
  taskQueue,
  args: [{ workload }],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  staticSummary: `collects the preflight reports of ${workload.name} in ${workload.namespace}`,
  attributes: { KcoverNamespace: workload.namespace, KcoverJob: workload.name, KcoverPhase: 'collecting' },
});

/** The workflow that holds the state shared by the whole cluster; callers start it where it does not run. */
export const clusterStart = (clusterUid: string, taskQueue: string): WorkflowStart<ClusterInput> => ({
  workflowType: workflowTypes.cluster,
  workflowId: clusterWorkflowId,
  taskQueue,
  args: [{ clusterUid }],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  staticSummary: 'reservations and the pause switch of the whole cluster',
  attributes: { KcoverPhase: 'starting' },
});

/** The workflow that tells one receiver of decisions. */
export const notifyStart = (route: string, taskQueue: string): WorkflowStart<NotifyInput> => ({
  workflowType: workflowTypes.notify,
  workflowId: notifyWorkflowId(route),
  taskQueue,
  args: [{ route }],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  staticSummary: `notifications to ${route}`,
  attributes: {},
});
