/** Removes everything of kcover from all nodes, without Temporal and workers: for an uninstall. */

import type { V1Node } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import { annotations } from '../../contract/ids.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { QuarantineSettings } from '../../kube/nodes/quarantine.ts';
import type { CommandOutput } from '../program/command.ts';
import type { Session } from '../clients/session.ts';
import { inRows, type ReleaseRow } from './rows.ts';
import { incidentOn } from './selection.ts';

export interface ClearAll {
  readonly session: Session;
  readonly request: OperatorRequest;
  readonly quarantine: QuarantineSettings;
  readonly dryRun: boolean;
}

export async function clearAll({ session, request, quarantine, dryRun }: ClearAll): Promise<CommandOutput> {
  const { listObjects } = await import('../../kube/client/requests.ts');
  const { editNode } = await import('../../kube/nodes/nodes.ts');
  const { clearEdit, hasQuarantineAnnotations } = await import('../../kube/nodes/quarantine.ts');
  const kube = await session.kube();
  const clear = async (seen: V1Node): Promise<ReleaseRow> => {
    const row = { node: seen.metadata?.name ?? '', incident: incidentOn(seen) };
    const because = seen.metadata?.annotations?.[annotations.quarantineReason] ?? null;
    if (dryRun) return { ...row, outcome: 'would be cleared', because };
    try {
      await editNode(kube, row.node, seen.metadata?.uid ?? '', (node) => clearEdit(node, quarantine));
      return { ...row, outcome: 'cleared', because: `${request.by}: ${request.reason}` };
    } catch (error) {
      if (!(error instanceof KcoverError)) throw error;
      return { ...row, outcome: 'failed', because: `${error.message}: ${error.because}` };
    }
  };
  const nodes = await listObjects<V1Node>(kube, '/api/v1/nodes', {}, 'list nodes');
  const rows: ReleaseRow[] = [];
  // One node after the other, so that a failed write does not stop the others.
  for (const node of nodes.filter(hasQuarantineAnnotations)) rows.push(await clear(node));
  return inRows(rows, 'no node has a taint, cordon or annotation of kcover');
}
