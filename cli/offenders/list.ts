import type { Client } from '@temporalio/client';
import { findQuarantines } from '../incidents/index.ts';
import { ago } from '../program/clock.ts';
import type { CommandOutput } from '../program/command.ts';
import { table } from '../program/output.ts';
import { offendersIn } from './offenders.ts';

interface Wanted {
  /** ms */
  readonly since: number;
  readonly now: number;
  readonly records: string | undefined;
}

/** The output of `kcover node list --offenders`. */
export async function listOffenders(client: Client, { since, now, records }: Wanted): Promise<CommandOutput> {
  const found = await findQuarantines(client, { wanted: { since }, limit: Number.POSITIVE_INFINITY, records });
  const offenders = offendersIn(found, since);
  const rows = offenders.map(({ machine, nodes, incidents, last, because, repair, retired }) => [
    machine ?? '',
    nodes.join(', '),
    String(incidents),
    ago(last, now),
    retired ? 'retired' : (repair ?? ''),
    because,
  ]);
  return {
    data: offenders,
    items: offenders.map((one) => {
      const about = one.machine ?? one.nodes.join(', ');
      return { about, line: [about, one.nodes.join(', '), one.incidents, one.because].join('   '), data: one };
    }),
    text:
      rows.length === 0
        ? 'kcover quarantined no node in that time'
        : table(['machine', 'nodes', 'incidents', 'last', 'repair', 'because'], rows),
  };
}
