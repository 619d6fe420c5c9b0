/** Activities over a cluster in memory: real decisions, simulated effects. For workflow tests only. */

import type { Fault } from '../../contract/faults/faults.ts';
import type { Activities } from '../../contract/wire/activities.ts';
import { decisionActivities } from './fake-cluster/decisions.ts';
import { jobActivities } from './fake-cluster/jobs.ts';
import { maintenanceActivities } from './fake-cluster/maintenance.ts';
import { nodeActivities } from './fake-cluster/nodes.ts';
import { recordActivities } from './fake-cluster/records.ts';
import { remedyActivities } from './fake-cluster/remedy.ts';
import { FakeClusterState } from './fake-cluster/state.ts';

export class FakeCluster extends FakeClusterState {
  activities(): Activities {
    return {
      ...decisionActivities(this),
      ...nodeActivities(this),
      ...jobActivities(this),
      ...recordActivities(this),
      ...remedyActivities(this),
      ...maintenanceActivities(this),
    };
  }

  reasons = (): string[] => this.announced.map((one) => one.reason);

  /** A node fault as the node's workflow reports it after the quarantine. */
  quarantined(fault: Fault): Fault {
    this.change(fault.node ?? '', { taint: { value: 'xid-79', ours: true } });
    return { ...fault, quarantine: { state: 'quarantined', because: fault.message } };
  }
}

/** Activities that always go to the cluster of the running test. */
export const activitiesOf = (current: () => FakeCluster): Activities =>
  Object.fromEntries(
    Object.keys(new FakeCluster().activities()).map((name) => [
      name,
      (request: never) => (current().activities()[name as 'announce'] as (one: never) => unknown)(request),
    ]),
  ) as unknown as Activities;
