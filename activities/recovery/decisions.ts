/** Policy, run as activities so that its answers are recorded. */

import { createHash } from 'node:crypto';
import type { Activities } from '../../contract/wire/activities.ts';
import { decideCapacity } from '../../policy/capacity/capacity.ts';
import { decideIncident } from '../../policy/incident/incident.ts';
import { decideNode } from '../../policy/node/node.ts';
import { decideOptIn } from '../../policy/recovery/recoverable.ts';
import { decideCollection, decidePreflight } from '../../policy/preflight/preflight.ts';
import { decideRecovery } from '../../policy/recovery/recovery.ts';
import type { Dependencies } from '../dependencies.ts';
import { faultsBehindPods } from '../node/queries.ts';

/** Identifies the settings that decided: twelve hex digits of a SHA-256 over all of them. */
export const settingsDigest = (settings: object): string =>
  createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 12);

type DecisionActivities = Pick<
  Activities,
  | 'decideNode'
  | 'decideIncident'
  | 'decideRecovery'
  | 'decideOptIn'
  | 'decideCapacity'
  | 'decideCollection'
  | 'decidePreflight'
>;

export function decisionActivities(
  dependencies: Pick<Dependencies, 'settings' | 'now' | 'temporal' | 'log'>,
): DecisionActivities {
  const { settings, now, temporal, log } = dependencies;
  const digest = settingsDigest(settings);
  const date = () => ({ settings: digest, at: now() });
  const unanswered = (node: string, error: unknown): void =>
    log.warn({ node, error }, 'the workflow of a node on which a pod failed does not answer');
  return {
    decideNode: async (facts) => ({ ...decideNode(facts, settings), ...date() }),
    decideIncident: async (facts) => {
      const found = await faultsBehindPods({ temporal, now, unanswered }, facts.faults);
      const decision = decideIncident({ ...facts, faults: [...facts.faults, ...found] }, settings);
      return { ...decision, ...(found.length > 0 && { found }), ...date() };
    },
    decideRecovery: async (facts) => ({ ...decideRecovery(facts, settings), ...date() }),
    decideOptIn: async (job) => ({ ...decideOptIn(job, settings), ...date() }),
    decideCapacity: async (request) => ({ ...decideCapacity(request, settings), ...date() }),
    decideCollection: async (request) => ({ ...decideCollection(request, settings), ...date() }),
    decidePreflight: async (request) => ({ ...decidePreflight(request, settings), ...date() }),
  };
}
