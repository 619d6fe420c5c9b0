import { jobTitle } from '../../contract/job/jobs.ts';
import { ago, lasted } from '../program/clock.ts';
import { type CommandEntry, sharedOptions } from '../program/command.ts';
import { findIncidents, limitOf, sinceOf } from '../incidents/index.ts';
import { table } from '../program/output.ts';

export const incidents: CommandEntry = {
  summary: 'List recoveries of jobs and quarantines of nodes: open ones, and those that ended lately.',
  arguments: [],
  options: [
    { flags: '-n, --namespace <name>', describe: 'Only recoveries of jobs in this namespace; all incidents otherwise' },
    { flags: '--job <job>', describe: 'Only recoveries of this job, such as pytorchjob/llm' },
    { flags: '--node <name>', describe: 'Only what this node was part of' },
    { flags: '--since <duration>', describe: 'Leave out what ended longer ago than this', byDefault: '24h' },
    { flags: '--limit <number>', describe: 'Print at most this many, the newest', byDefault: '50' },
    sharedOptions.records,
    sharedOptions.output,
  ],
  examples: ['kcover incidents', 'kcover incidents -n train --job pytorchjob/llm --since 7d --output json'],
  exits: ['unreachable'],
  async run(typed, { session, now }) {
    const { parseJobName } = await import('../job/name.ts');
    const job = typed.option('job');
    const wanted = {
      since: sinceOf(typed.value('since'), now),
      namespace: typed.option('namespace'),
      job: job === undefined ? undefined : jobTitle(parseJobName(job)),
      node: typed.option('node'),
    };
    const limit = limitOf(typed.value('limit'));
    const found = await findIncidents(await session.temporal(), { wanted, limit, records: typed.option('records') });
    const rows = found.map(({ about, namespace, startedAt, endedAt, outcome, because, incident }) => [
      namespace === null ? `node ${about}` : `${namespace}/${about}`,
      ago(startedAt, now),
      lasted(startedAt, endedAt, now),
      outcome,
      because,
      incident,
    ]);
    return {
      data: found,
      text:
        rows.length === 0
          ? `no incident in the last ${typed.value('since')}`
          : table(['about', 'started', 'lasted', 'outcome', 'because', 'incident'], rows),
    };
  },
};
