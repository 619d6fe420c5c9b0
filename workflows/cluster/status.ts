/** What the state of a cluster looks like from outside: answer of the query, current details, search attributes. Pure. */

import type { ClusterStatus } from '../../contract/cluster.ts';
import { type Attributes, type Details, iso } from '../attributes.ts';
import type { ClusterState } from './state.ts';

export const statusOf = (
  clusterUid: string,
  { phase, reservations, repairs, storms, waves, paused, unstored, waiting }: ClusterState,
): ClusterStatus => ({
  clusterUid,
  phase,
  reservations: Object.values(reservations),
  repairs: Object.values(repairs),
  storms: storms.open,
  waves: waves.begun,
  waitingForWave: waves.waiting.map(({ recovery }) => recovery),
  waiting,
  ...(paused && { paused }),
  ...(unstored && { unstored: unstored.because }),
});

export const attributesOf = ({ phase, paused, reservations }: ClusterState): Attributes => ({
  KcoverPhase: paused ? 'paused' : phase === 'counting' ? 'starting' : 'open',
  KcoverNode: Object.values(reservations)
    .map(({ node }) => node)
    .toSorted(),
});

export function detailsOf(
  clusterUid: string,
  { phase, paused, reservations, repairs, storms, waves, waiting, unstored }: ClusterState,
): Details {
  const out = Object.values(reservations).map(
    ({ node, since, preflight }) => `${node} since ${iso(since)}${preflight ? ' (preflight)' : ''}`,
  );
  return {
    title: paused ? `paused by ${paused.by}: ${paused.reason}` : 'open',
    rows: [
      ['nodes out', phase === 'counting' ? 'being counted' : out.toSorted().join(', ') || 'none'],
      ['one cause for several nodes', storms.open.map(({ id, nodes }) => `${id}: ${nodes.join(', ')}`).join('; ')],
      [
        'nodes under repair',
        Object.values(repairs)
          .map(({ node, since }) => `${node} since ${iso(since)}`)
          .toSorted()
          .join(', '),
      ],
      [
        'waves of recoveries',
        waves.begun
          .slice(-5)
          .map((wave) => `${wave.number} at ${iso(wave.since)}: ${wave.recoveries} recoveries, ${wave.pods} pods`)
          .join('; '),
      ],
      ['waiting for a wave', waves.waiting.map(({ recovery, pods }) => `${recovery} (${pods})`).join(', ')],
      ['waiting for a change', waiting.toSorted().join(', ') || 'none'],
      ['not yet stored outside of Temporal', unstored?.because],
      ['cluster', clusterUid],
    ],
  };
}
