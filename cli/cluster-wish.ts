import type { Client } from '@temporalio/client';
import { KcoverError } from '../contract/errors.ts';
import { clusterWorkflowId } from '../contract/ids.ts';
import type { OperatorWish } from '../contract/messages.ts';
import { wish } from './workflows.ts';

/** An update of the workflow `cluster`, which the first worker starts. */
export async function wishOfCluster<Result>(client: Client, update: string, said: OperatorWish): Promise<Result> {
  try {
    return await wish<Result>(client, clusterWorkflowId, update, said);
  } catch (error) {
    if (!(error instanceof KcoverError) || error.code !== 'not-found') throw error;
    throw new KcoverError('not-found', `no workflow ${clusterWorkflowId} runs in Temporal namespace ${client.options.namespace}`, {
      what: 'kcover has not run here yet',
      try: 'start a kcover worker, or set TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE',
    });
  }
}
