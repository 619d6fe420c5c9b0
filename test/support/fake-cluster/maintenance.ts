/** A planned maintenance in memory: jobs leave when the test says so, and every order is kept. */

import { randomUUID } from 'node:crypto';
import type { Activities } from '../../../contract/wire/activities.ts';
import type { FakeClusterState } from './state.ts';

type Names = 'observeMaintenance' | 'orderQuarantine' | 'returnNode';

/** What a test may change while it runs. */
export class FakeMaintenance {
  /** Every order, in order. */
  readonly orders: string[] = [];
  /** Opted-in jobs on the node. */
  jobs: readonly string[] = [];
  hold: string | undefined;
  leadMs = 60_000;
  /** Why the node stays out at the end. */
  kept: string | undefined;
  /** Delays the answer to the order of a quarantine. */
  gate: Promise<void> = Promise.resolve();
}

export function maintenanceActivities(cluster: FakeClusterState): Pick<Activities, Names> {
  const { maintenance } = cluster;
  return {
    observeMaintenance: async ({ node }) => {
      const view = cluster.nodes.get(node);
      const { leadMs, hold, jobs } = maintenance;
      return view
        ? { uid: view.uid, leadMs, lookAgainMs: 50, askAgainMs: 50, ...(hold !== undefined && { hold }), jobs }
        : null;
    },
    orderQuarantine: async ({ node, by, reason }) => {
      maintenance.orders.push(`quarantine ${node}`);
      await maintenance.gate;
      return { incident: `node/${node}/${randomUUID()}`, ours: true, because: `${by} asked: ${reason}` };
    },
    returnNode: async ({ node }) => {
      maintenance.orders.push(`release ${node}`);
      return maintenance.kept === undefined
        ? { kind: 'released', because: 'its quarantine is over' }
        : { kind: 'kept', because: maintenance.kept };
    },
  };
}
