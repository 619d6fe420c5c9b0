/** Commands that list something in one cluster, or with `--context` in several. */

import type { Session } from '../clients/session.ts';
import type { CommandOutput, Typed } from '../program/command.ts';
import { askEach, clustersIn, recordsOf } from './clusters.ts';
import { type Listing, listed, listedByCluster } from './listing.ts';

/** One cluster to look at. */
export interface Place {
  readonly session: Session;
  /** Directory of its records. */
  readonly records: string | undefined;
  /** It was named by `--context`. */
  readonly isNamed: boolean;
}

export async function listInClusters(
  typed: Typed,
  session: Session,
  look: (place: Place) => Promise<Listing>,
): Promise<CommandOutput> {
  const context = typed.option('context');
  const records = typed.option('records');
  if (context === undefined) return listed(await look({ session, records, isNamed: false }));
  const clusters = clustersIn(context);
  const directories = recordsOf(records, clusters);
  return listedByCluster(
    await askEach(clusters, session, (own, cluster) =>
      look({ session: own, records: directories.get(cluster), isNamed: true }),
    ),
  );
}
