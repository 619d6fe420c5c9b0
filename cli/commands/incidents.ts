import type { Client } from '@temporalio/client';
import type { Storm } from '../../contract/cluster.ts';
import { clusterWorkflowId } from '../../contract/ids.ts';
import { jobTitle } from '../../contract/job/jobs.ts';
import { ago, lasted } from '../program/clock.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { findIncidents, limitOf, sinceOf } from '../incidents/index.ts';
import type { IncidentFilter, IncidentSummary } from '../incidents/incident.ts';
import { type PlacedIncident, withStorms } from '../incidents/storms.ts';
import { type Place, listInClusters } from '../clusters/index.ts';
import type { Listing } from '../clusters/listing.ts';

function titleOf(kind: IncidentSummary['kind'], namespace: string | null, about: string): string {
  if (kind === 'storm') return `nodes of ${about}`;
  return namespace === null ? `node ${about}` : `${namespace}/${about}`;
}

const lineOf = ({ kind, namespace, about, outcome, because, incident }: IncidentSummary): string =>
  [titleOf(kind, namespace, about), outcome, because, incident].join('   ');

/** None where the workflow of the cluster does not run. */
async function openStorms(client: Client): Promise<readonly Storm[]> {
  const { statusOf } = await import('../clients/workflows.ts');
  const status = await statusOf(client, 'cluster', clusterWorkflowId).catch(() => undefined);
  return status?.storms ?? [];
}

export const incidents: CommandEntry = {
  summary: 'List recoveries of jobs and quarantines of nodes: open ones, and those that ended lately.',
  arguments: [],
  options: [
    sharedOptions.watch,
    { flags: '-n, --namespace <name>', describe: 'Only recoveries of jobs in this namespace; all incidents otherwise' },
    { flags: '--job <job>', describe: 'Only recoveries of this job, such as pytorchjob/llm' },
    { flags: '--node <name>', describe: 'Only what this node was part of' },
    { flags: '--since <duration>', describe: 'Leave out what ended longer ago than this', byDefault: '24h' },
    { flags: '--limit <number>', describe: 'Print at most this many of each cluster, the newest', byDefault: '50' },
    sharedOptions.context,
    sharedOptions.records,
    sharedOptions.output,
  ],
  examples: ['kcover incidents --watch', 'kcover incidents --context east,west --since 7d --output json'],
  exits: ['unreachable'],
  async run(typed, { session, now }) {
    const { parseJobName } = await import('../job/name.ts');
    const job = typed.option('job');
    const wanted: IncidentFilter = {
      since: sinceOf(typed.value('since'), now),
      namespace: typed.option('namespace'),
      job: job === undefined ? undefined : jobTitle(parseJobName(job)),
      node: typed.option('node'),
    };
    const limit = limitOf(typed.value('limit'));
    return listInClusters(typed, session, (place) => look(place, wanted, limit, { now, since: typed.value('since') }));
  },
};

async function look(
  { session, records }: Place,
  wanted: IncidentFilter,
  limit: number,
  { now, since }: { readonly now: number; readonly since: string },
): Promise<Listing> {
  const client = await session.temporal();
  const known = await findIncidents(client, { wanted, limit, records });
  // Those of other jobs and nodes were not wanted.
  const isWhole = wanted.namespace === undefined && wanted.job === undefined && wanted.node === undefined;
  const found = withStorms(known, isWhole ? await openStorms(client) : []);
  return {
    head: ['about', 'started', 'lasted', 'outcome', 'because', 'incident'],
    rows: found.map((one) => ({ about: one.incident, line: lineOf(one), cells: cellsOf(one, now), data: one })),
    none: `no incident in the last ${since}`,
  };
}

const cellsOf = (
  { kind, parent, about, namespace, startedAt, endedAt, outcome, because, incident }: PlacedIncident,
  now: number,
): readonly string[] => [
  `${parent === null ? '' : '└ '}${titleOf(kind, namespace, about)}`,
  ago(startedAt, now),
  lasted(startedAt, endedAt, now),
  outcome,
  because,
  incident,
];
