import type { Client } from '@temporalio/client';
import { findQuarantines } from '../incidents/index.ts';
import { ago } from '../program/clock.ts';
import type { ListedRow, Listing } from '../clusters/listing.ts';
import { type Offender, offendersIn } from './offenders.ts';

interface Wanted {
  /** ms */
  readonly since: number;
  readonly now: number;
  readonly records: string | undefined;
}

/** What `kcover node list --offenders` lists in one cluster. */
export async function listOffenders(client: Client, { since, now, records }: Wanted): Promise<Listing> {
  const found = await findQuarantines(client, { wanted: { since }, limit: Number.POSITIVE_INFINITY, records });
  return {
    head: ['machine', 'nodes', 'incidents', 'last', 'repair', 'because'],
    rows: offendersIn(found, since).map((one) => rowOf(one, now)),
    none: 'kcover quarantined no node in that time',
  };
}

function rowOf(one: Offender, now: number): ListedRow {
  const { machine, incidents, last, because, repair, retired } = one;
  const nodes = one.nodes.join(', ');
  const about = machine ?? nodes;
  return {
    about,
    line: [about, nodes, incidents, because].join('   '),
    cells: [machine ?? '', nodes, String(incidents), ago(last, now), retired ? 'retired' : (repair ?? ''), because],
    data: one,
  };
}
