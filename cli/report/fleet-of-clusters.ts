/** The report of a time over several clusters: the figures of all together, with the cluster of each node and job. Pure. */

import { fleetReport, type FleetReport, largest, type Recorded, type Window } from './fleet.ts';

export interface ClusterRecords {
  readonly cluster: string;
  readonly records: readonly Recorded[];
}

/** Names of nodes and jobs are only unique in their cluster, so these are counted in each. */
export function reportOfClusters(clusters: readonly ClusterRecords[], window: Window): FleetReport {
  const each = clusters.map(({ cluster, records }) => ({ cluster, report: fleetReport(records, window) }));
  const all = fleetReport(
    clusters.flatMap(({ records }) => records),
    window,
  );
  return {
    ...all,
    quarantines: {
      ...all.quarantines,
      open: each.reduce((total, { report }) => total + report.quarantines.open, 0),
    },
    byCluster: each.map(({ cluster, report: { recoveries, gpuHours, timeToRecover, quarantines } }) => ({
      cluster,
      recoveries,
      quarantines: quarantines.count,
      gpuHours,
      ...(timeToRecover && { timeToRecover }),
    })),
    byNode: largest(
      each.flatMap(({ cluster, report }) => report.byNode.map((row) => ({ cluster, ...row }))),
      (row) => row.recoveries + row.quarantines,
    ),
    byJob: largest(
      each.flatMap(({ cluster, report }) => report.byJob.map((row) => ({ cluster, ...row }))),
      (row) => row.lostMs,
    ),
  };
}
