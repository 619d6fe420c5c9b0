/** The report of a time as a page, each figure with its definition. Pure. */

import { formatDuration } from '../../contract/settings/duration.ts';
import type { ClusterShare, FleetReport } from './fleet.ts';
import { type Line, list, type Page, table } from './page.ts';

/** `notes`: what could not be read. */
export function fleetPage(report: FleetReport, notes: readonly string[] = []): Page {
  const { byPhase, byCause, byNode, byJob, byCluster } = report;
  // Its first column, where there are several.
  const inCluster = (cells: readonly string[], cluster = ''): string[] =>
    byCluster ? [cluster, ...cells] : [...cells];
  return {
    title: `Incidents from ${report.from} to ${report.to}`,
    intro: [...introOf(report), ...notes.map((note): Line => [{ strong: 'not read' }, ` ${note}`])],
    sections: [
      ...(byCluster ? [clustersSection(byCluster)] : []),
      {
        title: 'GPU-hours by phase',
        blocks: [
          table(
            ['phase', 'GPU-hours'],
            byPhase.map(({ phase, gpuHours }) => [phase, digits(gpuHours)]),
          ),
        ],
      },
      {
        title: 'Recoveries by cause',
        blocks: [
          table(
            ['first fault', 'recoveries', 'GPU-hours'],
            byCause.map(({ cause, recoveries, gpuHours }) => [cause, `${recoveries}`, digits(gpuHours)]),
          ),
        ],
      },
      {
        title: 'Incidents by node',
        blocks: [
          table(
            inCluster(['node', 'recoveries', 'quarantines'], 'cluster'),
            byNode.map(({ cluster, node, recoveries, quarantines }) =>
              inCluster([node, `${recoveries}`, `${quarantines}`], cluster),
            ),
          ),
        ],
      },
      {
        title: 'Jobs',
        blocks: [
          table(
            inCluster(['job', 'recoveries', 'lost', 'GPU-hours', 'ETTR'], 'cluster'),
            byJob.map(({ cluster, job, recoveries, lostMs, gpuHours, ettr }) =>
              inCluster(
                [
                  job,
                  `${recoveries}`,
                  formatDuration(lostMs),
                  digits(gpuHours),
                  ettr === undefined ? '' : percent(ettr),
                ],
                cluster,
              ),
            ),
          ),
        ],
      },
      { title: 'What the figures mean', blocks: [list(definitions)] },
    ],
  };
}

const clustersSection = (clusters: readonly ClusterShare[]): Page['sections'][number] => ({
  title: 'Clusters',
  blocks: [
    table(
      ['cluster', 'recoveries', 'quarantines', 'GPU-hours', 'time to recover (median)'],
      clusters.map(({ cluster, recoveries, quarantines, gpuHours, timeToRecover }) => [
        cluster,
        `${recoveries}`,
        `${quarantines}`,
        digits(gpuHours),
        timeToRecover ? formatDuration(timeToRecover.p50) : '',
      ]),
    ),
  ],
});

function introOf({
  recoveries,
  outcomes,
  verifiedShare,
  timeToRecover,
  betweenRecoveries,
  gpuHours,
  withoutCost,
  quarantines,
}: FleetReport): Line[] {
  const ended = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  return [
    [{ strong: `${recoveries} recoveries` }, recoveries === 0 ? '' : `: ${ended.join(', ')}`],
    ...(verifiedShare === undefined ? [] : [[`${percent(verifiedShare)} of the restarts were verified`]]),
    ...(timeToRecover
      ? [[`time to recover ${formatDuration(timeToRecover.p50)} (median), ${formatDuration(timeToRecover.p95)} (p95)`]]
      : []),
    ...(betweenRecoveries === undefined ? [] : [[`${formatDuration(betweenRecoveries)} between two recoveries`]]),
    [
      { strong: `${digits(gpuHours)} GPU-hours` },
      ` lost${withoutCost === 0 ? '' : `, without ${withoutCost} recoveries of jobs whose accelerators are not known`}`,
    ],
    [
      { strong: `${quarantines.count} quarantines` },
      `${quarantines.open === 0 ? '' : `, ${quarantines.open} of them in force`}${quarantines.p50 === undefined ? '' : `; the others lasted ${formatDuration(quarantines.p50)} (median)`}`,
    ],
  ];
}

const definitions: readonly Line[] = [
  ['Only what is in the records: a recovery that still runs is not, and neither is a job that had no incident.'],
  ['Time to recover: from the first fault until the recovery ended as recovered or restarted.'],
  ['Verified: training was seen to pass the last step before the stop.'],
  [
    'Lost: from the last step before the stop, or the fault after it, until training had passed that step again. Standstill and repeated steps are both in it.',
  ],
  [
    'GPU-hours by phase: the length of each phase times the accelerators of the job, in recoveries that stopped something; a job may train on in the phases before its stop.',
  ],
  [
    'ETTR: the share of the time that no incident took, since the job opted in, or since the begin of this report where that was later. Waiting in a queue counts as training here.',
  ],
];

const digits = (value: number): string => String(Number(value.toPrecision(3)));
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
