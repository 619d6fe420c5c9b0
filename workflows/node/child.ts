/** The repair of a node as a child workflow: start it, signal what arrived. */

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { getExternalWorkflowHandle, startChild } from '@temporalio/workflow';
import { remedyId } from '../../contract/ids.ts';
import type { RemedyInput } from '../../contract/remedy/remedy.ts';
import { signals } from '../../contract/wire/messages.ts';
import { attributePairs } from '../attributes.ts';
import { short } from '../proxies.ts';
import { remedy } from '../remedy/index.ts';
import { gpusOf } from '../remedy/machine.ts';
import { firstAttributes } from '../remedy/status.ts';
import type { Message } from './messages.ts';

type ToRemedy = Extract<Message, { readonly to: 'remedy' }>;

/** A repair that has ended receives nothing, which is fine. */
export async function sendToRemedy(node: string, message: ToRemedy): Promise<void> {
  if ('start' in message) return startRemedy(message.start);
  const [name, payload] =
    'cancel' in message
      ? ([signals.remedyCancelled, { because: message.cancel }] as const)
      : ([signals.faultsObserved, { faults: message.faults }] as const);
  await getExternalWorkflowHandle(remedyId(node, message.incident))
    .signal(name, payload)
    .catch(() => undefined);
}

/** Starts it, or finds it started. It outlives a continue-as-new of the node's workflow. */
async function startRemedy(input: RemedyInput): Promise<void> {
  const { node, incident, systemUuid, faults, ladder } = input;
  try {
    await startChild(remedy, {
      workflowId: remedyId(node, incident),
      args: [input],
      parentClosePolicy: 'ABANDON',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: short(`repair ${node}: ${ladder.because}`),
      // By these, the next incident of the machine is known to be another one of it.
      memo: { incident, systemUuid, gpus: gpusOf(faults) },
      typedSearchAttributes: attributePairs({
        ...firstAttributes,
        KcoverFault: faults[0]?.code ?? 'operator/quarantine',
        KcoverNode: [node],
      }),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
