/** Signals faults to workflows. */

import type { Client } from '@temporalio/client';
import { type Fault, faultLimits } from '../contract/faults.ts';
import { type FaultsObserved, signals } from '../contract/messages.ts';
import { searchAttributePairs } from '../contract/search-attributes.ts';
import { howManyFit } from '../contract/signal-size.ts';
import type { WorkflowStart } from '../contract/starts.ts';

/** Time-out of one call to Temporal, ms: an activity that signals many must notice the one that hangs before its own time-out. */
const callMs = 10_000;

/** Signals a workflow, and starts it if it does not run. Throws what Temporal's client throws. */
export async function signalFaults(client: Client, { workflowType, attributes, ...start }: WorkflowStart<unknown>, faults: readonly Fault[]): Promise<void> {
  for (let left = faults; left.length > 0;) {
    const count = howManyFit(left, faultLimits.perSignal);
    const batch: FaultsObserved = { faults: left.slice(0, count) };
    left = left.slice(count);
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
