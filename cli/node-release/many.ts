/** Releases several quarantined nodes through their workflows. */

import type { V1Node } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { CommandOutput } from '../program/command.ts';
import type { Session } from '../clients/session.ts';
import { releaseByWorkflow } from './by-workflow.ts';
import { inRows, type ReleaseRow } from './rows.ts';
import { candidates, chosen, type Selection } from './selection.ts';

export interface ReleaseMany {
  readonly session: Session;
  readonly request: OperatorRequest;
  readonly taskQueue: string;
  readonly selection: Selection;
  /** Label selector of nodes. */
  readonly selector?: string | undefined;
  readonly dryRun: boolean;
}

export async function releaseMany({
  session,
  request,
  taskQueue,
  selection,
  selector,
  dryRun,
}: ReleaseMany): Promise<CommandOutput> {
  const { listObjects } = await import('../../kube/client/requests.ts');
  const { nodeStatuses } = await import('../clients/node-statuses.ts');
  const query = selector === undefined ? {} : { labelSelector: selector };
  const [nodes, statuses] = await Promise.all([
    listObjects<V1Node>(await session.kube(), '/api/v1/nodes', query, 'list nodes'),
    session.temporal().then(nodeStatuses),
  ]);
  const rows: ReleaseRow[] = [];
  // One node after the other, so that a failed release does not stop the others.
  for (const { node, incident, because } of chosen(candidates(nodes, statuses), selection))
    rows.push(
      dryRun
        ? { node, incident, because, outcome: 'would be released' }
        : await releaseByWorkflow(session, node, request, taskQueue).catch((error: unknown) => {
            if (!(error instanceof KcoverError)) throw error;
            return { node, incident, outcome: 'failed', because: `${error.message}: ${error.because}` };
          }),
    );
  return inRows(rows, nothingFound(selection));
}

const nothingFound = (selection: Selection): string =>
  selection.by === 'cause'
    ? `no node is quarantined for ${selection.cause} alone`
    : 'kcover has quarantined none of these nodes';
