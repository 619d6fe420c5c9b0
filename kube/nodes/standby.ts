/** Standby nodes: a taint keeps pods off them until a recovery removes it. */

import type { V1Node } from '@kubernetes/client-node';
import { annotations, recoveryWithoutUid } from '../../contract/ids.ts';
import { type NodeEdit, type QuarantineTaint, quarantineTaint, readinessOf } from './nodes.ts';

export interface StandbyRequest {
  readonly incident: string;
  /** Key of the taint of standby nodes. */
  readonly standbyTaint: string;
  readonly quarantine: QuarantineTaint;
}

/** Pure. Nothing to write if this incident has already taken the node; one that was returned to standby since is left there. */
export function standbyEdit(
  node: V1Node,
  { incident, standbyTaint, quarantine }: StandbyRequest,
): { readonly taken: boolean; readonly change?: NodeEdit } {
  const taints = node.spec?.taints ?? [];
  const standsBy = taints.some(({ key }) => key === standbyTaint);
  const taker = recoveryWithoutUid(incident);
  const isOurs = node.metadata?.annotations?.[annotations.standbyNodeTaken] === taker;
  if (isOurs || !standsBy) return { taken: isOurs && !standsBy };
  if (!readinessOf(node).ready || node.spec?.unschedulable || quarantineTaint(node, quarantine))
    return { taken: false };
  return {
    taken: true,
    change: {
      taints: taints.filter(({ key }) => key !== standbyTaint),
      annotations: { [annotations.standbyNodeTaken]: taker },
    },
  };
}
