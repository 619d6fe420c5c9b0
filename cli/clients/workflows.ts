/** Access to workflows: lists by visibility, status by query, requests by update. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WithStartWorkflowOperation, type WorkflowExecutionInfo } from '@temporalio/client';
import { defineSearchAttributeKey, type Workflow } from '@temporalio/common';
import type { ClusterStatus } from '../../contract/cluster.ts';
import { type SearchAttribute, searchAttributes } from '../../contract/ids.ts';
import { KcoverError } from '../../contract/errors.ts';
import { notCounted, notReady, type OperatorRequest, statusQuery } from '../../contract/wire/messages.ts';
import type { MaintenanceStatus } from '../../contract/node/maintenance.ts';
import type { NodeStatus } from '../../contract/node/nodes.ts';
import type { PreflightStatus } from '../../contract/preflight/runs.ts';
import type { RecoveryStatus } from '../../contract/recovery/recovery.ts';
import type { WorkflowStart } from '../../contract/wire/starts.ts';
import type { JobStatus } from '../../contract/job/training-job.ts';
import { optionsOf } from './start-workflow.ts';
import { askTemporal } from './temporal.ts';

interface Statuses {
  readonly trainingJob: JobStatus;
  readonly recovery: RecoveryStatus;
  readonly nodeQuarantine: NodeStatus;
  readonly preflight: PreflightStatus;
  readonly maintenance: MaintenanceStatus;
  readonly cluster: ClusterStatus;
}

/** The answer of a workflow's `status` query. */
export const statusOf = <Type extends keyof Statuses>(
  client: Client,
  _type: Type,
  workflowId: string,
): Promise<Statuses[Type]> =>
  askTemporal(client, `ask ${workflowId} for its status`, () =>
    client.workflow.getHandle(workflowId).query<Statuses[Type]>(statusQuery),
  );

/** Sends an update; a rejection is thrown as `refused`. Retries while the workflow has just started and is not ready for updates. */
export const sendUpdate = <Result>(
  client: Client,
  workflowId: string,
  update: string,
  request: OperatorRequest,
): Promise<Result> =>
  unlessTooEarly(client, workflowId, () =>
    client.workflow.getHandle(workflowId).executeUpdate<Result, [OperatorRequest]>(update, { args: [request] }),
  );

/** Sends an update and starts the workflow if it does not run. */
export const sendUpdateWithStart = <Result>(
  client: Client,
  start: WorkflowStart<unknown>,
  update: string,
  request: OperatorRequest,
): Promise<Result> =>
  unlessTooEarly(client, start.workflowId, () =>
    client.workflow.executeUpdateWithStart<Workflow, Result, [OperatorRequest]>(update, {
      args: [request],
      startWorkflowOperation: new WithStartWorkflowOperation<Workflow>(start.workflowType, {
        ...optionsOf(start),
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    }),
  );

async function unlessTooEarly<Result>(client: Client, workflowId: string, ask: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await askTemporal(client, `update ${workflowId}`, ask);
    } catch (error) {
      const isEarly =
        error instanceof KcoverError && [notReady, notCounted].some((words) => error.because.includes(words));
      if (tries === 10 || !isEarly) throw error;
      await sleep(300);
    }
  }
}

/** All workflows that match the query, newest first. */
export const listWorkflows = (client: Client, query: string): Promise<WorkflowExecutionInfo[]> =>
  askTemporal(client, 'list workflows', async () => {
    const found: WorkflowExecutionInfo[] = [];
    for await (const each of client.workflow.list({ query, pageSize: 1000 })) found.push(each);
    return found.toSorted((a, b) => b.startTime.getTime() - a.startTime.getTime());
  });

/** Value of a search attribute with a single value. */
export function attribute(
  info: WorkflowExecutionInfo,
  name: Exclude<SearchAttribute, 'KcoverNode'>,
): string | undefined {
  return info.typedSearchAttributes.get(defineSearchAttributeKey(name, searchAttributes[name]));
}

/** Undefined when Temporal has no such workflow. */
export async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof KcoverError && error.code === 'not-found') return undefined;
    throw error;
  }
}
