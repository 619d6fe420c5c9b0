import { clockTime, lasted } from '../program/clock.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import type { IncidentSummary } from '../incidents/incident.ts';
import { findQuarantines, limitOf, sinceOf } from '../incidents/index.ts';
import { table } from '../program/output.ts';

export const nodeHistory: CommandEntry = {
  summary:
    'List the quarantines of a node: when each began, how long it lasted, its author and reason, how the node was repaired, and how it ended.',
  arguments: [{ name: '<node>', describe: 'Name of the node' }],
  options: [
    {
      flags: '--since <duration>',
      describe: 'Leave out what ended longer ago than this; as far back as is known otherwise',
    },
    { flags: '--limit <number>', describe: 'Print at most this many, the newest', byDefault: '50' },
    sharedOptions.records,
    sharedOptions.output,
  ],
  examples: ['kcover node history gpu-3', 'kcover node history gpu-3 --records /var/lib/kcover/records --output json'],
  exits: ['unreachable'],
  async run(typed, { session, now }) {
    const node = typed.argument('node');
    const wanted = { since: sinceOf(typed.option('since'), now), node };
    const limit = limitOf(typed.value('limit'));
    const found = await findQuarantines(await session.temporal(), { wanted, limit, records: typed.option('records') });
    const rows = found.map(({ startedAt, endedAt, outcome, by, because, endedBecause, incident, remedy }) => [
      clockTime(startedAt, now),
      lasted(startedAt, endedAt, now),
      outcome,
      by,
      because,
      remedy === undefined ? '' : `${remedy.state}: ${remedy.because}`,
      endedBecause ?? '',
      incident,
    ]);
    return {
      data: found.map((one) => ({
        ...one,
        lastedMs: Date.parse(one.endedAt ?? new Date(now).toISOString()) - Date.parse(one.startedAt),
      })),
      text:
        rows.length === 0
          ? `no quarantine of ${node} is known`
          : [
              table(['quarantined', 'lasted', 'outcome', 'by', 'because', 'repair', 'ended because', 'incident'], rows),
              ...attemptsOf(found, now),
            ].join('\n'),
    };
  },
};

/** A table of all attempts to repair the node, newest first; nothing without any. */
function attemptsOf(found: readonly IncidentSummary[], now: number): readonly string[] {
  const rows = found.flatMap(({ remediations = [] }) =>
    remediations
      .toReversed()
      .map(({ rung, attempt, begunAt, endedAt, outcome, because, operation }) => [
        clockTime(begunAt, now),
        lasted(begunAt, endedAt, now),
        rung,
        String(attempt),
        outcome,
        because,
        operation,
      ]),
  );
  return rows.length === 0
    ? []
    : ['', table(['repaired', 'lasted', 'rung', 'attempt', 'outcome', 'because', 'operation'], rows)];
}
