/** The decisions of policy, made for real. */

import { decideCapacity } from '../../../policy/capacity/capacity.ts';
import { decideIncident } from '../../../policy/incident/incident.ts';
import { decideNode } from '../../../policy/node/node.ts';
import { decideCollection, decidePreflight } from '../../../policy/preflight/preflight.ts';
import { decideOptIn } from '../../../policy/recovery/recoverable.ts';
import { decideRecovery } from '../../../policy/recovery/recovery.ts';
import type { Activities } from '../../../contract/wire/activities.ts';
import type { FakeClusterState } from './state.ts';

type Names =
  | 'decideNode'
  | 'decideIncident'
  | 'decideRecovery'
  | 'decideOptIn'
  | 'decideCollection'
  | 'decidePreflight'
  | 'decideCapacity';

export function decisionActivities(cluster: FakeClusterState): Pick<Activities, Names> {
  const digest = async <T>(decision: T): Promise<T & { settings: string; at: number }> => ({
    ...decision,
    settings: 'test',
    at: Date.now(),
  });
  return {
    decideNode: (facts) => digest(decideNode(facts, cluster.settings)),
    decideIncident: (facts) => {
      const decision = decideIncident(facts, cluster.settings);
      cluster.dismissals.push(...decision.dismissed);
      return digest(decision);
    },
    decideRecovery: (facts) => digest(decideRecovery(facts, cluster.settings)),
    decideOptIn: (view) => digest(decideOptIn(view, cluster.settings)),
    decideCollection: (request) => digest(decideCollection(request, cluster.settings)),
    decidePreflight: (request) => digest(decidePreflight(request, cluster.settings)),
    decideCapacity: (request) => digest(decideCapacity(request, cluster.settings)),
  };
}
