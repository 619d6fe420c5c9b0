/** Releases all quarantined nodes, or removes everything of kcover from all nodes before an uninstall. */

import type { V1Node } from '@kubernetes/client-node';
import { KcoverError } from '../../contract/errors.ts';
import { annotations } from '../../contract/ids.ts';
import type { OperatorRequest } from '../../contract/wire/messages.ts';
import type { QuarantineSettings } from '../../kube/nodes/quarantine.ts';
import type { CommandOutput } from '../program/command.ts';
import { table } from '../program/output.ts';
import type { Session } from '../clients/session.ts';
import { releaseByWorkflow } from './by-workflow.ts';

export interface ReleaseAll {
  readonly session: Session;
  readonly request: OperatorRequest;
  readonly taskQueue: string;
  /** Clears every node with an annotation of kcover, without the workflows; otherwise the workflows release quarantined nodes. */
  readonly ownerOnly: boolean;
  readonly dryRun: boolean;
  readonly quarantine: QuarantineSettings;
}

interface ReleaseRow {
  readonly node: string;
  readonly incident: string | null;
  readonly outcome: string;
  readonly because: string | null;
}

export async function releaseAll(asked: ReleaseAll): Promise<CommandOutput> {
  const { session, ownerOnly, dryRun } = asked;
  const { listObjects } = await import('../../kube/client/requests.ts');
  const { hasQuarantineAnnotations } = await import('../../kube/nodes/quarantine.ts');
  const nodes = await listObjects<V1Node>(await session.kube(), '/api/v1/nodes', {}, 'list nodes');
  const ours = nodes.filter((node) => (ownerOnly ? hasQuarantineAnnotations(node) : incidentOn(node) !== null));
  const rows: ReleaseRow[] = [];
  // One node after the other, so that a failed release does not stop the others.
  for (const node of ours) rows.push(dryRun ? wouldBe(node, ownerOnly) : await released(node, asked));
  const lines = rows.map(({ node, outcome, incident, because }) => [node, outcome, incident ?? '', because ?? '']);
  return {
    data: rows,
    text:
      rows.length === 0
        ? 'no node has a taint, cordon or annotation of kcover'
        : table(['node', 'outcome', 'incident', 'because'], lines),
    exit: rows.some(({ outcome }) => outcome === 'failed') ? 'failed' : 'ok',
  };
}

const nameOf = ({ metadata }: V1Node): string => metadata?.name ?? '';
const incidentOn = ({ metadata }: V1Node): string | null =>
  metadata?.annotations?.[annotations.quarantineIncident] ?? null;

const wouldBe = (node: V1Node, ownerOnly: boolean): ReleaseRow => ({
  node: nameOf(node),
  incident: incidentOn(node),
  outcome: ownerOnly ? 'would be cleared' : 'would be released',
  because: node.metadata?.annotations?.[annotations.quarantineReason] ?? null,
});

async function released(
  node: V1Node,
  { session, request, taskQueue, ownerOnly, quarantine }: ReleaseAll,
): Promise<ReleaseRow> {
  const row = { node: nameOf(node), incident: incidentOn(node) };
  try {
    if (!ownerOnly) return await releaseByWorkflow(session, row.node, request, taskQueue);
    const { editNode } = await import('../../kube/nodes/nodes.ts');
    const { clearEdit } = await import('../../kube/nodes/quarantine.ts');
    await editNode(await session.kube(), row.node, node.metadata?.uid ?? '', (seen) => clearEdit(seen, quarantine));
    return { ...row, outcome: 'cleared', because: `${request.by}: ${request.reason}` };
  } catch (error) {
    if (!(error instanceof KcoverError)) throw error;
    return { ...row, outcome: 'failed', because: `${error.message}: ${error.because}` };
  }
}
