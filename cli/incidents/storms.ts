/** Several nodes with one cause, as one incident above theirs. Pure. */

import type { Storm } from '../../contract/cluster.ts';
import type { IncidentSummary } from './incident.ts';

/** `parent`: the incident of several nodes that this one belongs to. */
export type PlacedIncident = IncidentSummary & { readonly parent: string | null };

/** How long before it was recognised its first node may have been quarantined, ms. */
const beforeMs = 3_600_000;

/** Each incident of several nodes, followed by what belongs to it; then the others. */
export function withStorms(incidents: readonly IncidentSummary[], storms: readonly Storm[]): readonly PlacedIncident[] {
  const newest = storms.toSorted((a, b) => b.since - a.since);
  const stormOf = ({ nodes, startedAt }: IncidentSummary): Storm | undefined =>
    newest.find(
      (storm) => Date.parse(startedAt) >= storm.since - beforeMs && nodes.some((node) => storm.nodes.includes(node)),
    );
  const placed = Map.groupBy(incidents, stormOf);
  const placedIn = (storm: Storm | undefined): PlacedIncident[] =>
    (placed.get(storm) ?? []).map((one) => ({ ...one, parent: storm?.id ?? null }));
  return [...newest.flatMap((storm) => [summaryOf(storm), ...placedIn(storm)]), ...placedIn(undefined)];
}

const summaryOf = ({ id, cause, place, since, nodes, until }: Storm): PlacedIncident => ({
  incident: id,
  kind: 'storm',
  namespace: null,
  about: place,
  nodes,
  startedAt: new Date(since).toISOString(),
  endedAt: null,
  outcome: 'open',
  because: `${nodes.length} nodes with ${cause} within minutes; their repairs wait until ${new Date(until).toISOString()} at least`,
  by: 'kcover',
  endedBecause: null,
  parent: null,
});
