import type { Client } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { FaultsObserved, OperatorRequest } from '../../contract/wire/messages.ts';
import { searchAttributePairs } from '../../contract/wire/search-attributes.ts';
import type { WorkflowStart } from '../../contract/wire/starts.ts';
import { askTemporal } from './temporal.ts';

/** Starts the workflow, or finds it running; returns its id. */
export async function startWorkflow<Input>(client: Client, start: WorkflowStart<Input>): Promise<string> {
  const { workflowType, workflowId } = start;
  await askTemporal(client, `start ${workflowId}`, () =>
    client.workflow.start(workflowType, { ...optionsOf(start), workflowIdConflictPolicy: 'USE_EXISTING' }),
  );
  return workflowId;
}

/** Starts the workflow or finds it running, and sends what an operator requests or reports as a signal. */
export async function signalWithStart<Input>(
  client: Client,
  start: WorkflowStart<Input>,
  signal: string,
  payload: OperatorRequest | FaultsObserved,
): Promise<string> {
  const { workflowType, workflowId } = start;
  await askTemporal(client, `signal ${workflowId}`, () =>
    client.workflow.signalWithStart(workflowType, { ...optionsOf(start), signal, signalArgs: [payload] }),
  );
  return workflowId;
}

/** Start options of the SDK. */
export function optionsOf<Input>({
  workflowId,
  taskQueue,
  args,
  workflowIdReusePolicy,
  staticSummary,
  attributes,
}: WorkflowStart<Input>) {
  return {
    workflowId,
    taskQueue,
    args: [...args],
    workflowIdReusePolicy,
    staticSummary,
    typedSearchAttributes: new TypedSearchAttributes(searchAttributePairs(attributes)),
  };
}
