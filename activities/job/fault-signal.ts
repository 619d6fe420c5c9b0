/** Signals faults to workflows. */

import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { type Fault, faultLimits } from '../../contract/faults/faults.ts';
import { type FaultsObserved, signals } from '../../contract/wire/messages.ts';
import { searchAttributePairs } from '../../contract/wire/search-attributes.ts';
import { howManyFit } from '../../contract/wire/signal-size.ts';
import type { WorkflowStart } from '../../contract/wire/starts.ts';

/** Time-out of one call to Temporal, ms: an activity that signals many must notice the one that hangs before its own time-out. */
const callMs = 10_000;

/** Signals a workflow, and starts it if it does not run. Throws what Temporal's client throws. */
export async function signalFaults(
  client: Client,
  { workflowType, attributes, ...start }: WorkflowStart<unknown>,
  faults: readonly Fault[],
): Promise<void> {
  for (const batch of batchesOf(faults)) {
    await client.withDeadline(Date.now() + callMs, () =>
      client.workflow.signalWithStart(workflowType, {
        ...start,
        typedSearchAttributes: searchAttributePairs(attributes),
        signal: signals.faultsObserved,
        signalArgs: [batch],
      }),
    );
  }
}

/** Signals a workflow if it runs, and returns its id if so. Throws what Temporal's client throws otherwise. */
export async function signalRunning(
  client: Client,
  workflowId: string,
  faults: readonly Fault[],
): Promise<readonly string[]> {
  try {
    const handle = client.workflow.getHandle(workflowId);
    for (const batch of batchesOf(faults))
      await client.withDeadline(Date.now() + callMs, () => handle.signal(signals.faultsObserved, batch));
    return faults.length > 0 ? [workflowId] : [];
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return [];
    throw error;
  }
}

function* batchesOf(faults: readonly Fault[]): Generator<FaultsObserved> {
  for (let left = faults; left.length > 0;) {
    const count = howManyFit(left, faultLimits.perSignal);
    yield { faults: left.slice(0, count) };
    left = left.slice(count);
  }
}
