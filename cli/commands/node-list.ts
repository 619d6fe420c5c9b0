import type { Client } from '@temporalio/client';
import type { V1Node } from '@kubernetes/client-node';
import { annotations, nodeWorkflowId, quarantineTaintKey, workflowTypes } from '../../contract/ids.ts';
import type { NodeStatus } from '../../contract/nodes.ts';
import { ago } from '../clock.ts';
import { type CommandEntry, sharedOptions } from '../command.ts';
import { table } from '../output.ts';

interface Row {
  readonly node: string;
  readonly phase: string;
  readonly reason: string | null;
  readonly because: string | null;
  readonly since: string | null;
  readonly incident: string | null;
}

export const nodeList: CommandEntry = {
  summary: 'List the nodes that kcover keeps out of service or looks after.',
  arguments: [],
  options: [sharedOptions.kubeconfig, sharedOptions.output],
  examples: ['kcover node list', 'kcover node list --output json'],
  exits: ['unreachable'],
  async run(_typed, { session, now }) {
    const { listObjects } = await import('../../kube/requests.ts');
    const [kube, client] = await Promise.all([session.kube(), session.temporal()]);
    const [nodes, statuses] = await Promise.all([listObjects<V1Node>(kube, '/api/v1/nodes', {}, 'list nodes'), nodeStatuses(client)]);
    const marked = new Map(nodes.filter(isOurs).map((node) => [node.metadata?.name ?? '', node]));
    const names = [...new Set([...marked.keys(), ...statuses.keys()])].toSorted();
    const rows = names.map((name) => rowOf(name, marked.get(name), statuses.get(name)));
    const lines = rows.map(({ node, phase, reason, since, incident, because }) => [
      node,
      phase,
      reason ?? '',
      since === null ? '' : ago(since, now),
      incident ?? '',
      because ?? '',
    ]);
    return {
      data: rows,
      text: rows.length === 0 ? 'no node is quarantined or watched' : table(['node', 'phase', 'reason', 'since', 'incident', 'because'], lines),
    };
  },
};

const isOurs = (node: V1Node): boolean => node.metadata?.annotations?.[annotations.quarantineIncident] !== undefined;

/** What stands on the node is the truth about its quarantine; the workflow knows the rest. */
function rowOf(node: string, marked: V1Node | undefined, status: NodeStatus | undefined): Row {
  const notes = marked?.metadata?.annotations ?? {};
  return {
    node,
    phase: status?.phase ?? 'quarantined, no workflow',
    reason: marked?.spec?.taints?.find((taint) => taint.key === quarantineTaintKey)?.value ?? status?.faults.at(-1)?.code ?? null,
    because: status?.because ?? notes[annotations.quarantineReason] ?? null,
    since: status?.since ?? timeIn(notes[annotations.quarantineIncident]),
    incident: status?.incident ?? notes[annotations.quarantineIncident] ?? null,
  };
}

/** `node/<name>/<time>` */
const timeIn = (incident: string | undefined): string | null => incident?.split('/').at(-1) ?? null;

/** Few nodes are looked after at a time, so each may be asked. */
async function nodeStatuses(client: Client): Promise<ReadonlyMap<string, NodeStatus>> {
  const { listWorkflows, statusOf } = await import('../workflows.ts');
  const running = await listWorkflows(client, `WorkflowType = '${workflowTypes.nodeQuarantine}' AND ExecutionStatus = 'Running'`);
  const waiting = running.map(({ workflowId }) => workflowId);
  const found = new Map<string, NodeStatus>();
  const ask = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      // It may have ended since it was listed.
      const status = await statusOf(client, 'nodeQuarantine', id).catch(() => undefined);
      if (status && nodeWorkflowId(status.node) === id) found.set(status.node, status);
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  return found;
}
