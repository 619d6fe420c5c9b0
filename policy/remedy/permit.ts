/** Whether a remedy may act on a node, as far as settings and nodes say; the workflow of the cluster knows the rest. */

import type { NodeView } from '../../contract/node/nodes.ts';
import type { WorkerSettings } from '../../contract/settings/settings.schema.ts';

/** What is looked at before a remedy acts. */
interface PermitFacts {
  /** The Node object of the name; undefined when there is none. */
  readonly node: NodeView | undefined;
  readonly uid: string;
  readonly incident: string;
  /** Nodes with accelerators that kcover does not keep out of service. */
  readonly others: readonly Pick<NodeView, 'ready'>[];
}

/** `over`: there is nothing left to repair. `refused`: not now. Undefined: nothing stands against it. */
export function whyNoRepair(
  { node, uid, incident, others }: PermitFacts,
  { mode, remediation }: Pick<WorkerSettings, 'mode' | 'remediation'>,
): { readonly kind: 'over' | 'refused'; readonly because: string } | undefined {
  const over = whyOver(node, uid, incident);
  if (over !== undefined) return { kind: 'over', because: over };
  if (mode === 'observe') return { kind: 'refused', because: 'mode is observe' };
  if (remediation.mode === 'off') return { kind: 'refused', because: 'remediation.mode is off' };
  const silent = others.filter(({ ready }) => !ready).length;
  return silent > tolerated.nodes && silent * 100 > others.length * tolerated.percent
    ? { kind: 'refused', because: `${silent} of ${others.length} nodes with accelerators are not ready at once` }
    : undefined;
}

/** With more nodes not ready than both, the view of the cluster is probably stale, or the fault is not that of one node. */
const tolerated = { nodes: 2, percent: 20 } as const;

/** A node that somebody released, or that has another owner by now, must not be rebooted. */
function whyOver(node: NodeView | undefined, uid: string, incident: string): string | undefined {
  if (!node) return 'the node object is gone';
  if (node.uid !== uid) return 'its name was taken by another node object';
  if (!node.taint?.ours) return 'the node is no longer quarantined by kcover';
  return node.taint.incident === incident ? undefined : 'the node is quarantined by another incident';
}
