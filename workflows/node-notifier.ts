/** What a node's workflow sends: to the jobs on the node, to the cluster's workflow, to people. */

import { getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import type { Fault, QuarantineStatus } from '../contract/faults.ts';
import { clusterWorkflowId, eventReasons } from '../contract/ids.ts';
import { signals } from '../contract/messages.ts';
import type { NodeQuarantine, NodeRecord, NodeView } from '../contract/nodes.ts';
import { iso } from './attributes.ts';
import type { NodeState } from './node-state.ts';
import { announce, perform, tolerate } from './proxies.ts';

export interface NodeNotifier {
  /** Notifies every opted-in job with pods on the node of the state of the node. */
  notifyJobs(faults: readonly Fault[], state: QuarantineStatus['state'], why: string): Promise<void>;
  /** Returns the reservation of a machine. */
  releaseReservation(uid: string): Promise<void>;
  /** Asks the cluster's workflow for a notification when a refusal may no longer hold. */
  awaitReservation(): Promise<void>;
  /** Stores the record of a quarantine, when it begins and again when it ends. */
  record(quarantine: NodeQuarantine, seen: Pick<NodeView, 'uid' | 'systemUuid'>, ended?: NodeRecord['ended']): Promise<void>;
  /** Writes an Event on the node; nothing waits for it. */
  say(type: 'Normal' | 'Warning', reason: keyof typeof eventReasons, message: string, key?: string): void;
}

export function nodeNotifier(node: string, nodeState: NodeState, view: () => NodeView | undefined): NodeNotifier {
  // A cluster's workflow that does not run holds no reservation, and nobody waits for it.
  const signalCluster = (signal: string, payload: object) =>
    getExternalWorkflowHandle(clusterWorkflowId)
      .signal(signal, payload)
      .catch(() => undefined);
  return {
    async notifyJobs(faults, state, why) {
      if (faults.length > 0)
        await tolerate(perform('notifyJobs', `notify the jobs on ${node}: ${state}`, { node, faults: nodeState.withHold(state, why, faults) }));
    },
    releaseReservation: (uid) => signalCluster(signals.returned, { nodeUids: [uid] }),
    awaitReservation: () => signalCluster(signals.waiting, { workflowId: workflowInfo().workflowId }),
    async record({ incident, because, by, since, taint }, { uid, systemUuid }, ended) {
      const record: NodeRecord = {
        schema: 1,
        incident,
        node,
        uid,
        systemUuid,
        because,
        by,
        taint,
        quarantinedAt: iso(since),
        faults: nodeState.faults,
        ...(ended ? { ended } : {}),
      };
      await tolerate(perform('recordIncident', `keep the record: ${ended?.outcome ?? 'quarantined'}`, record));
    },
    say(type, reason, message, key = node) {
      const seen = view();
      if (seen) void announce({ about: { kind: 'node', name: node, uid: seen.uid }, type, reason: eventReasons[reason], message, key });
    },
  };
}
